"""Keras 3 on torch: the Gray loss of logits, and a callback that records after every epoch.

Not among the pinned packages: `pip install keras`. Callbacks of Keras do not see logits while it trains, so
the training set is asked once more at the end of each epoch.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")  # before keras is imported

import keras
import torch
from clouds import clouds

import graylearn as gl


def main():
    x, given, wrong = clouds()
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(5)]
    model = keras.Sequential([keras.layers.Input((8,)), *layers])
    recorder, ids, labels = gl.Recorder(), torch.arange(len(x)), torch.from_numpy(given)  # ours

    def loss(y, logits):
        return gl.gray_loss(logits, y.long().flatten(), reduction="none")  # ours

    def record(epoch, logs):
        recorder.record(ids, torch.as_tensor(model.predict(x, verbose=0)), labels)  # ours
        recorder.end_epoch()  # ours

    model.compile(optimizer=keras.optimizers.Adam(1e-2), loss=loss)
    callback = keras.callbacks.LambdaCallback(on_epoch_end=record)
    model.fit(x, given, epochs=6, batch_size=20, verbose=0, callbacks=[callback])
    return gl.Audit.from_history(recorder.history, features=x), wrong  # ours


if __name__ == "__main__":
    print(main()[0].summary())
