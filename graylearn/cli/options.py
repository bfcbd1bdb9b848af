"""The flags that commands share, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

_DATA, _LEARN, _MEASURE = "Data", "Learning", "Measuring"

Data: TypeAlias = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA",
        help="A CSV, TSV, Parquet, Feather or JSON-lines file, a folder of images with one folder a class, a "
        "table of image paths, or an .npz file. May also come from --settings.",
        show_default=False,
    ),
]
Out: TypeAlias = Annotated[
    Path, typer.Option("--out", "-o", help="The run folder to write.", metavar="RUN", show_default=False)
]
SettingsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--settings", help="A TOML or YAML file of settings; flags win over it.", show_default=False
    ),
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Make the run anew where one is in the folder.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for machines.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing while it runs.")]

Label: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--label", "-l", help="The column of labels.", rich_help_panel=_DATA, show_default="guessed if plain"
    ),
]
Id: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--id", help="The column that names samples.", rich_help_panel=_DATA, show_default="id, or lines"
    ),
]
NoId: TypeAlias = Annotated[
    bool | None,
    typer.Option("--no-id", help="Name samples by their lines.", rich_help_panel=_DATA, show_default=False),
]
Without: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--without", help="A column to leave out; may be repeated.", rich_help_panel=_DATA, show_default=False
    ),
]
Text: TypeAlias = Annotated[
    str | None,
    typer.Option("--text", help="The column of texts to embed.", rich_help_panel=_DATA, show_default=False),
]
ImagePath: TypeAlias = Annotated[
    str | None,
    typer.Option("--path", help="The column of image paths.", rich_help_panel=_DATA, show_default=False),
]
Split: TypeAlias = Annotated[
    str | None,
    typer.Option("--split", help="The split of an .npz file.", rich_help_panel=_DATA, show_default=False),
]
Separator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--separator", help="What parts the cells.", rich_help_panel=_DATA, show_default="looked up"
    ),
]
Encoding: TypeAlias = Annotated[
    str | None,
    typer.Option("--encoding", help="Of a CSV file.", rich_help_panel=_DATA, show_default="utf-8"),
]
Size: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--size", help="Pixels a side of images.", rich_help_panel=_DATA, show_default="64, to embed 128"
    ),
]
Unreadable: TypeAlias = Annotated[
    Literal["stop", "skip"] | None,
    typer.Option(
        "--unreadable", help="At images that cannot be read.", rich_help_panel=_DATA, show_default="stop"
    ),
]
Features: TypeAlias = Annotated[
    Literal["auto", "pixels", "embed"] | None,
    typer.Option(
        "--features",
        help="Images through a pretrained network (extra images) or from pixels.",
        rich_help_panel=_DATA,
        show_default="embed where installed",
    ),
]
Embedding: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--embedding",
        help="Another pretrained network, of timm or sentence-transformers.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]

Method: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="gl, gl-relative, standard, sl, gce, co-teaching, ...",
        rich_help_panel=_LEARN,
        show_default="gl for rows, gl-relative for pixels",
    ),
]
Network: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--network", help="mlp, small_cnn, resnet18, ...", rich_help_panel=_LEARN, show_default="by the data"
    ),
]
Epochs: TypeAlias = Annotated[
    int | None, typer.Option("--epochs", rich_help_panel=_LEARN, show_default="20 or more")
]
BatchSize: TypeAlias = Annotated[
    int | None, typer.Option("--batch-size", rich_help_panel=_LEARN, show_default="16 to 128")
]
LearningRate: TypeAlias = Annotated[
    float | None, typer.Option("--learning-rate", rich_help_panel=_LEARN, show_default="by the batch")
]
Augment: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--augment/--no-augment", help="Crop and flip images.", rich_help_panel=_LEARN, show_default="no"
    ),
]
Refine: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--refine/--no-refine",
        help="Fit again on what the audit believes.",
        rich_help_panel=_LEARN,
        show_default="refine",
    ),
]
Mode: TypeAlias = Annotated[
    Literal["auto", "held-out", "history"] | None,
    typer.Option(
        "--mode",
        help="Audit by networks that did not see a sample, or by the history of the one fit.",
        rich_help_panel=_LEARN,
        show_default="held-out, for pixels history",
    ),
]
Seed: TypeAlias = Annotated[int | None, typer.Option("--seed", rich_help_panel=_LEARN, show_default="0")]
Device: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--device", help="cpu or cuda.", rich_help_panel=_LEARN, show_default="cuda if there is one"
    ),
]
Precision: TypeAlias = Annotated[
    Literal["auto", "fp32", "bf16"] | None,
    typer.Option("--precision", rich_help_panel=_LEARN, show_default="auto"),
]

Test: TypeAlias = Annotated[
    Path | None,
    typer.Option("--test", help="Clean data to measure on.", rich_help_panel=_MEASURE, show_default=False),
]
TestSplit: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--test-split", help="Its split of an .npz file.", rich_help_panel=_MEASURE, show_default=False
    ),
]
TestShare: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--test-share",
        help="A share to hold out and measure on.",
        rich_help_panel=_MEASURE,
        show_default=False,
    ),
]
