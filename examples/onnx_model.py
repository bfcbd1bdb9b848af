"""ONNX: a fitted classifier in one file that onnxruntime asks, without torch or graylearn."""

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from clouds import clouds

import graylearn as gl
from graylearn.integrations.onnx import save_model  # ours


def main():
    x, given, wrong = clouds()
    model = gl.GrayClassifier(random_state=0).fit(x, given)  # ours
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        save_model(model, path)  # ours
        session = onnxruntime.InferenceSession(path)
        answers = session.run(None, {"X": np.asarray(x[:3], dtype=np.float64)})
        print(dict(zip(["class", "probabilities", "ood_score", "rejected"], answers, strict=True)))
    return model.audit_, wrong


if __name__ == "__main__":
    print(main()[0].summary())
