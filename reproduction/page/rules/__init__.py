"""How each claim of the paper is judged: one declared rule a claim, applied to what was measured."""

from __future__ import annotations

from collections.abc import Callable

from reproduction.page.evidence import Evidence
from reproduction.page.judgement import Judgement
from reproduction.page.rules import accuracy, calibration, parts, studies

RULES: dict[str, Callable[[Evidence], Judgement]] = {
    "ood-hurts": accuracy.ood_hurts,
    "images-best": accuracy.images_best,
    "images-standard": accuracy.images_standard,
    "spl-worst": accuracy.spl_worst,
    "bt-il": accuracy.bt_il,
    "nl-mae": accuracy.nl_mae,
    "tables-best": accuracy.tables_best,
    "tables-standard": accuracy.tables_standard,
    "alpha-standard": studies.alpha_standard,
    "alpha-gl": studies.alpha_gl,
    "sources-matter": studies.sources_matter,
    "sources-gl": studies.sources_gl,
    "architectures-residual": studies.architectures_residual,
    "architectures-gl": studies.architectures_gl,
    "calibration-gl": calibration.calibration_gl,
    "calibration-perfect": calibration.calibration_perfect,
    "calibration-overconfident": calibration.calibration_overconfident,
    "ablation-tables": parts.ablation_tables,
    "ablation-images": parts.ablation_images,
    "separation": parts.separation,
    "formula": parts.formula,
}
"""The rule of each claim."""
