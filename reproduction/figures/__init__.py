"""The figures of the reproduction, as PNG and SVG."""

from reproduction.figures.draw import draw, fingerprint, recorded_fingerprint

__all__ = ["draw", "fingerprint", "recorded_fingerprint"]
