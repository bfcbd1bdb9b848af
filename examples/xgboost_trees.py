"""XGBoost: the Gray objective in its own API and in scikit-learn's, and an audit by such trees."""

import xgboost
from clouds import clouds

import graylearn as gl
from graylearn.integrations.trees import gray_objective, train_objective


def main():
    x, given, wrong = clouds()
    model = xgboost.XGBClassifier(objective=gray_objective, n_estimators=30, n_jobs=1)  # ours
    audit = gl.audit(x, given, model=model)  # ours
    data = xgboost.DMatrix(audit.clean(x), audit.clean(given))  # ours
    parameters = {"objective": "multi:softprob", "num_class": 5, "nthread": 1}
    booster = xgboost.train(parameters, data, 30, obj=train_objective)  # ours
    print("probabilities of the first row:", booster.predict(xgboost.DMatrix(x[:1])).round(3))
    return audit, wrong


if __name__ == "__main__":
    print(main()[0].summary())
