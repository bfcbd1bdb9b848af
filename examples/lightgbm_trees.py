"""LightGBM: the Gray objective in its own API, and an audit by LightGBM's classifier with that objective."""

import lightgbm
from clouds import clouds
from scipy.special import softmax

import graylearn as gl
from graylearn.integrations.lightgbm import GrayLGBMClassifier
from graylearn.integrations.trees import train_objective


def main():
    x, given, wrong = clouds()
    audit = gl.audit(x, given, model=GrayLGBMClassifier(n_estimators=30, n_jobs=1, verbosity=-1))  # ours
    data = lightgbm.Dataset(audit.clean(x), audit.clean(given))  # ours
    parameters = {"objective": train_objective, "num_class": 5, "num_threads": 1, "verbosity": -1}  # ours
    booster = lightgbm.train(parameters, data, num_boost_round=30)
    print("probabilities of the first row:", softmax(booster.predict(x[:1]), axis=1).round(3))
    return audit, wrong


if __name__ == "__main__":
    print(main()[0].summary())
