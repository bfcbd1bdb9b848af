"""The figures of the reproduction, as PNG and SVG."""

from graylearn.bench.figures.draw import draw, fingerprint, recorded_fingerprint

__all__ = ["draw", "fingerprint", "recorded_fingerprint"]
