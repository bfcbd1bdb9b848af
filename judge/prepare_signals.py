"""Features of sounds and series, by hand: functions (raw) -> x (N, D), y (N,) for prepare.py."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

Made = tuple[np.ndarray, np.ndarray]


def cepstrum(sound: np.ndarray, rate: int, parts: int = 4) -> np.ndarray:
    """(parts * 26,) mean and spread of 13 mel cepstral coefficients in each part of a sound."""
    from scipy.fft import dct

    sound = np.asarray(sound, np.float64)
    sound = np.append(sound[0], sound[1:] - 0.97 * sound[:-1])
    length, step = rate // 40, rate // 100
    sound = np.pad(sound, (0, max(0, 4 * parts * step + length - len(sound))))
    frames = np.lib.stride_tricks.sliding_window_view(sound, length)[::step] * np.hamming(length)
    power = np.abs(np.fft.rfft(frames, 512 if length <= 512 else 2048)) ** 2
    mel = np.linspace(0, 2595 * np.log10(1 + rate / 1400), 28)
    edge = 700 * (10 ** (mel / 2595) - 1) / (rate / 2) * (power.shape[1] - 1)
    bins = np.arange(power.shape[1])
    low, top, high = edge[:-2, None], edge[1:-1, None], edge[2:, None]
    filters = np.clip(np.minimum((bins - low) / (top - low), (high - bins) / (high - top)), 0, None)
    spectrum = np.log(power @ filters.T + 1e-8 * power.max() + 1e-12)
    each = np.array_split(dct(spectrum, axis=1, norm="ortho")[:, :13], parts)
    return np.concatenate([np.r_[part.mean(axis=0), part.std(axis=0)] for part in each])


def moments(series: np.ndarray) -> np.ndarray:
    """Of each column of (T, C): mean, spread, range, roughness, and how much lies in each octave of pitch."""
    power = np.abs(np.fft.rfft(series - series.mean(axis=0), axis=0))[1:]
    octaves = np.unique(np.r_[0, 2 ** np.arange(int(np.log2(len(power))) + 1)])
    rough = np.abs(np.diff(series, axis=0)).mean(axis=0)
    return np.r_[series.mean(axis=0), series.std(axis=0), np.ptp(series, axis=0), rough,
                 np.log(np.add.reduceat(power, octaves[:-1], axis=0) + 1e-3).ravel()]  # fmt: skip


def _sounds(paths: list[Path], rate: int) -> Iterator[np.ndarray]:
    from scipy.io import wavfile
    from scipy.signal import resample_poly

    for path in paths:
        own, sound = wavfile.read(path)
        yield cepstrum(resample_poly(sound.astype(np.float64), rate, own) if own != rate else sound, rate)


def spoken_digits(raw: Path) -> Made:
    """Digits spoken by six people."""
    paths = sorted((raw / "free-spoken-digit-dataset/recordings").glob("*.wav"))
    return np.stack(list(_sounds(paths, 8000))), np.array([path.name.split("_")[0] for path in paths])


def _audiomnist(raw: Path) -> list[Path]:
    return [path for path in sorted((raw / "AudioMNIST/data").glob("*/*.wav"))
            if int(path.stem.split("_")[2]) % 10 == 0]  # fmt: skip


def audiomnist(raw: Path) -> Made:
    """Digits spoken by sixty people."""
    paths = _audiomnist(raw)
    return np.stack(list(_sounds(paths, 8000))), np.array([path.stem.split("_")[0] for path in paths])


def speakers(raw: Path) -> Made:
    """The same recordings by who speaks."""
    paths = _audiomnist(raw)
    return np.stack(list(_sounds(paths, 8000))), np.array([path.stem.split("_")[1] for path in paths])


def esc10(raw: Path) -> Made:
    """Dogs, rain, clocks and seven more sounds: the part of ESC-50 that is free."""
    listed = pd.read_csv(raw / "ESC-50/meta/esc50.csv").query("esc10")
    paths = [raw / "ESC-50/audio" / name for name in listed["filename"]]
    return np.stack(list(_sounds(paths, 22050))), listed["category"].to_numpy()


def vowels(raw: Path) -> Made:
    """Nine men who say a Japanese vowel."""
    x, y = [], []
    for part in ("TRAIN", "TEST"):
        path = raw / f"aeon/aeon/datasets/data/JapaneseVowels/JapaneseVowels_eq_{part}.ts"
        for line in path.read_text().split("@data")[1].strip().splitlines():
            *series, name = line.split(":")
            x.append(moments(np.array([column.split(",") for column in series], float).T))
            y.append(name)
    return np.stack(x), np.asarray(y)


def frogs(raw: Path) -> Made:
    """Calls of ten species of frogs."""
    frame = pd.read_csv(raw / "ALW/Frogs_MFCCs.csv")
    return frame.filter(like="MFCC").to_numpy(), frame["Species"].to_numpy()


def exercises(raw: Path) -> Made:
    """A watch at the wrist during seven exercises of the shoulder, windows of two seconds."""
    path = raw / "seglearn/seglearn/data/watch_dataset.npy"
    kept = np.load(path, allow_pickle=True).item()
    x, y = [], []
    for series, name in zip(kept["X"], kept["y"], strict=True):
        for start in range(0, len(series) - 100, 100):
            x.append(moments(series[start : start + 100]))
            y.append(name)
    return np.stack(x), np.asarray(y)


def activity(raw: Path) -> Made:
    """Means over thirty people's walking, sitting, standing and lying with a telephone at the waist."""
    frame = pd.read_csv(raw / "UCI-HAR-Dataset/averages-tidy.txt", sep=" ")
    return frame.drop(columns=["Activity", "Subject"]).to_numpy(), frame["Activity"].to_numpy()


def movement(raw: Path) -> Made:
    """Strength of four radio beacons while someone walks to another room or stays."""
    x, y = [], []
    with zipfile.ZipFile(raw / "Datasets/IndoorMovement.zip") as file:
        target = pd.read_csv(io.BytesIO(file.read("dataset/MovementAAL_target.csv"))).to_numpy()
        for number, name in target:
            series = pd.read_csv(io.BytesIO(file.read(f"dataset/MovementAAL_RSS_{number}.csv"))).to_numpy()
            ends = np.array_split(series, 4)
            x.append(np.r_[moments(series[-16:]), np.concatenate([part.mean(axis=0) for part in ends])])
            y.append(name)
    return np.stack(x), np.asarray(y)


def robot(raw: Path) -> Made:
    """Ultrasound around a robot that follows a wall, and how it turns."""
    frame = pd.read_csv(raw / "robot-sensor-data-classification-ml/sensor_readings_24.data")
    return frame.iloc[:, :-1].to_numpy(), frame.iloc[:, -1].to_numpy()


def rooms(raw: Path) -> Made:
    """Strength of seven radio networks in four rooms."""
    table = np.loadtxt(raw / "decision-tree-cart/wifi_localization.txt")
    return table[:, :-1], table[:, -1]
