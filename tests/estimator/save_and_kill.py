"""Saves one classifier over another, killed at changes to files; run by test_classifier_saving_killed.

python save_and_kill.py ONE OTHER FOLDER STEP, then the other way round: for each change, of every STEP one,
FOLDER becomes a copy of the old classifier, a child that saves the new one there is killed just before it,
and a line of JSON says what is loaded then, and now and then after another save.
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

from graylearn.estimator import GrayClassifier

CHANGES = (
    "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree", "shutil.copyfile",
)  # fmt: skip
X = np.random.default_rng(0).normal(size=(5, 3))


def killed_at(number, classifier, folder):
    """Save in a child that is killed before its change to a file of this number; whether it came to that."""
    child = os.fork()
    if child == 0:
        left = [number]

        def count(event, given):
            writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
            if writes or event in CHANGES:
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            classifier.save(folder)
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status != 0


def content(classifier):
    """What tells one classifier from another."""
    said, past = classifier.predict_proba(X), classifier.history_.label_confidence
    return said.tobytes(), past.tobytes(), classifier.audit_ is None


def over(old, new, folder, step):
    saved = GrayClassifier.load(new)
    names = {content(GrayClassifier.load(old)): "old", content(saved): "new"}
    number, killed = 1, True
    while killed:
        shutil.rmtree(folder, ignore_errors=True)
        GrayClassifier.load(old).save(folder)
        killed = killed_at(number, saved, folder)
        row = [old.name, killed, names[content(GrayClassifier.load(folder))]]
        if number // step % 4 == 0:
            saved.save(folder)
            left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
            row += [names[content(GrayClassifier.load(folder))], left]
        print(json.dumps(row), flush=True)
        number += step


if __name__ == "__main__":
    one, other, where = map(Path, sys.argv[1:4])
    over(one, other, where, int(sys.argv[4]))
    over(other, one, where, int(sys.argv[4]))
