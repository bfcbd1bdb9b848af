"""Any classifier of scikit-learn's kind: audited by copies of itself, fitted again on what they believe."""

from clouds import clouds
from sklearn.ensemble import ExtraTreesClassifier

import graylearn as gl


def main():
    x, given, wrong = clouds()
    model = gl.GrayClassifier(network=ExtraTreesClassifier(30), refine=True, random_state=0)  # ours
    model.fit(x, given)
    print("classes of the first rows:", model.predict(x[:5]))
    return model.audit_, wrong  # ours


if __name__ == "__main__":
    print(main()[0].summary())
