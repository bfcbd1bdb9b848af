"""What prepared sources look like: functions of N samples -> features (N, D), by hand or by networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = 128
Many = Sequence[Any] | np.ndarray


def flat(images: Many) -> np.ndarray:
    """Pixels, or columns, as they are."""
    return np.asarray(images).reshape(len(images), -1)


def edges(gray: Many, cells: int = 4, directions: int = 8) -> np.ndarray:
    """(N, cells * cells * directions) how much edge of each direction lies in each cell of gray images."""
    images = np.asarray(gray)
    dy, dx = np.gradient(images.astype(np.float32), axis=(1, 2))
    size = np.hypot(dx, dy)
    turn = ((np.arctan2(dy, dx) + np.pi) / (2 * np.pi) * directions).astype(int) % directions
    side = np.arange(images.shape[1]) * cells // images.shape[1]
    across = np.arange(images.shape[2]) * cells // images.shape[2]
    place = (side[:, None] * cells + across) * directions
    out = np.zeros((len(images), cells * cells * directions), np.float32)
    for i in range(len(images)):
        np.add.at(out[i], place + turn[i], size[i])
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-6)


def seen(photos: Many) -> np.ndarray:
    """As a network trained on ImageNet sees them."""
    from graylearn.data import embed_images

    return np.asarray(embed_images(np.asarray(photos), size=96))


def coloured(photos: Many) -> np.ndarray:
    """Shares of 4 x 4 x 4 colours, and the directions of edges."""
    x = np.asarray(photos)
    levels = (x // 64).astype(int)
    code = levels[..., 0] * 16 + levels[..., 1] * 4 + levels[..., 2]
    colours = np.stack([np.bincount(each.ravel(), minlength=64) for each in code]) / code[0].size
    return np.c_[np.sqrt(colours), edges(x.mean(axis=3) / 255)]


def vectors(text: Many) -> np.ndarray:
    """Sentence vectors."""
    from graylearn.data import embed_text

    return np.asarray(embed_text(list(text)))


def letters(text: Many) -> np.ndarray:
    """Runs of 2 to 4 letters, hashed, weighted by how rare they are, on 128 axes."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    counts = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3, sublinear_tf=True)
    return np.asarray(TruncatedSVD(COLUMNS, random_state=0).fit_transform(counts.fit_transform(text)))


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


def heard(paths: Many, rate: int = 8000) -> np.ndarray:
    """`cepstrum` of recordings."""
    from scipy.io import wavfile
    from scipy.signal import resample_poly

    x = []
    for own, sound in map(wavfile.read, paths):
        x.append(cepstrum(resample_poly(sound.astype(np.float64), rate, own) if own != rate else sound, rate))
    return np.stack(x)


def moments(series: np.ndarray) -> np.ndarray:
    """Of each column of (T, C): mean, spread, range, roughness, and how much lies in each octave of pitch."""
    power = np.abs(np.fft.rfft(series - series.mean(axis=0), axis=0))[1:]
    octaves = np.unique(np.r_[0, 2 ** np.arange(int(np.log2(len(power))) + 1)])
    rough = np.abs(np.diff(series, axis=0)).mean(axis=0)
    return np.r_[series.mean(axis=0), series.std(axis=0), np.ptp(series, axis=0), rough,
                 np.log(np.add.reduceat(power, octaves[:-1], axis=0) + 1e-3).ravel()]  # fmt: skip


def felt(series: Many) -> np.ndarray:
    """`moments` of series."""
    return np.stack([moments(each) for each in series])


def ending(series: Many) -> np.ndarray:
    """`moments` of the last 16 steps, and the means of four parts."""
    parts = [np.concatenate([part.mean(axis=0) for part in np.array_split(each, 4)]) for each in series]
    return np.c_[felt([each[-16:] for each in series]), np.stack(parts)]


def numbers(frame: pd.DataFrame) -> np.ndarray:
    """(N, D): words of a few values one column per value, of more one code; gaps by the median."""
    columns = []
    for name in frame:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            columns.append(values.fillna(values.median()).to_numpy(np.float64)[:, None])
        elif values.nunique() <= 8:
            columns.append(pd.get_dummies(values.astype(str)).to_numpy(np.float64))
        elif values.nunique() < len(frame) / 3:
            columns.append(pd.factorize(values.astype(str), sort=True)[0][:, None].astype(np.float64))
    return np.nan_to_num(np.concatenate(columns, axis=1)) if columns else np.zeros((len(frame), 0))
