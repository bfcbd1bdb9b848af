"""Saves a classifier over another, killed at every file operation; run by test_classifier_saving_killed.

python save_and_kill.py OLD NEW FOLDER: for each operation FOLDER becomes a copy of OLD, a child that saves
NEW there is killed just before it, and a line of JSON says what is loaded then, and after the next save.
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

from graylearn.estimator import GrayClassifier


def killed_at(number, classifier, folder):
    """Save in a child that is killed before its file operation of this number; whether it came to that."""
    child = os.fork()
    if child == 0:
        left = [number]

        def count(event, _):
            if event == "open" or event.startswith(("os.", "shutil.")):
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


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def main():
    old, new, folder = map(Path, sys.argv[1:])
    saved = {name: GrayClassifier.load(path) for name, path in (("old", old), ("new", new))}
    names = {content(each): name for name, each in saved.items()}
    number, killed = 0, True
    while killed:
        number += 1
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(old, folder)
        (folder / "mine.txt").write_text("mine")
        killed = killed_at(number, saved["new"], folder)
        held = names[content(GrayClassifier.load(folder))]
        saved["new"].save(folder)
        print(
            json.dumps([killed, held, names[content(GrayClassifier.load(folder))], files(folder)]), flush=True
        )


X = np.random.default_rng(0).normal(size=(5, 3))
if __name__ == "__main__":
    main()
