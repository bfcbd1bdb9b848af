"""MLflow: a fitted classifier as a pyfunc model that tells class, probabilities, ood_score and rejection."""

import tempfile
from pathlib import Path

import mlflow
from clouds import clouds

import graylearn as gl
from graylearn.integrations.mlflow import save_model  # ours


def main():
    x, given, wrong = clouds()
    model = gl.GrayClassifier(random_state=0).fit(x, given)  # ours
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model")  # ours
        served = mlflow.pyfunc.load_model(str(Path(folder) / "model"))
        print(served.predict(x[:3]))
    return model.audit_, wrong


if __name__ == "__main__":
    print(main()[0].summary())
