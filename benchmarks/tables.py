"""The tables of docs/lab/measurements.md, made from results/*.jsonl.

python benchmarks/tables.py            # write them into the page, between its markers
python benchmarks/tables.py --check    # only say whether the page is as the results make it
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev

import record
from lab_pages import bring_up_to_date, filled, markdown
from record import Row

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "lab" / "measurements.md"


def results(name: str, experiment: str) -> list[Row]:
    return [row for row in record.rows(ROOT / "results" / f"{name}.jsonl") if row["experiment"] == experiment]


def loss(device: str, logits: str) -> str:
    """Microseconds forward + backward, one line a size and type."""
    rows = [r for r in results("loss", "loss") if r["device"] == device and r["logits"] == logits]
    cases = list(dict.fromkeys((r["rows"], r["classes"], r["dtype"]) for r in rows))
    body = []
    for case in cases:
        by = {r["loss"]: r for r in rows if (r["rows"], r["classes"], r["dtype"]) == case}
        ours = by["ours"]

        def cell(name: str, by: dict[str, Row] = by) -> str:
            return f"{by[name]['time_s'] * 1e6:,.0f}" if name in by else "-"

        peer = by["cross_entropy"]
        body.append(
            [
                f"({case[0]}, {case[1]}) {case[2]}",
                f"{ours['floor_s'] * 1e6:,.1f}",
                cell("ours"),
                f"{ours['time_s'] / ours['floor_s']:.2f}",
                cell("reference"),
                cell("compiled reference"),
                cell("cross_entropy"),
                f"{peer['time_s'] / ours['time_s']:.2f}",
                f"{ours['eager_s'] / peer['eager_s']:.2f}" if device == "cuda" else "-",
                f"{ours['memory_buffers']:.2f}",
            ]
        )
    head = ["logits", "floor", "ours", "x floor", "reference", "compiled", "cross_entropy"]
    head += ["faster than it", "time from Python / its", "buffers"]
    return markdown(head, body)


def tables() -> str:
    """The engine on tables: microseconds a step, one thread."""
    row = results("training", "training speed, tables, cpu")[-1]
    body = [[name, f"{value:,.0f}"] for name, value in row["microseconds_a_step"].items()]
    return markdown(["way", "microseconds a step and model"], body)


def gpu() -> str:
    """The engine on images."""
    body = [
        [
            f"{r['compile']}, batch {r['batch_size']}",
            f"{r['images_per_second']:,.0f}",
            f"{r['tflops']:.0f}",
            f"{r['plain_float32_images_per_second']:,.0f}",
            f"{r['ratio_at_batch']:.1f}",
        ]
        for r in results("training", "training speed, images, gpu")
    ]
    return markdown(["torch.compile mode", "images a second", "TFLOP/s", "plain float32", "ratio"], body)


def percent(cell: list[Row], name: str) -> str:
    values = [100 * r[name] for r in cell if name in r]
    if not values:
        return "-"
    return f"{mean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def last_batch() -> str:
    """Small last batches: accuracy with the last batch as it is left, and shared between the last two."""
    rows = results("last_batch", "last batch")
    body = []
    for preset in ("paper", "fast"):
        for left in sorted({r["left"] for r in rows}):
            cell = [r for r in rows if (r["preset"], r["left"]) == (preset, left)]
            ways = [[r for r in cell if r["last"] == way] for way in ("as left", "shared")]
            gains = [
                100 * (b["accuracy"] - a["accuracy"])
                for a in ways[0]
                for b in ways[1]
                if a["seed"] == b["seed"]
            ]
            body.append([f"`{preset}`, {left} of 256 left", str(len(gains))])
            body[-1] += [percent(way, "accuracy") for way in ways]
            body[-1].append(f"{mean(gains):+.1f} ± {stdev(gains):.1f}")
    return markdown(["preset and last batch", "seeds", "as left, %", "shared, %", "difference"], body)


def first_steps() -> str:
    """The paper's schedule cut short, from the full rate and after a warm-up."""
    rows = results("first_steps", "first steps")
    body = []
    for method in ("standard", "gl"):
        line = [f"`{method}`"]
        for preset in ("paper", "paper-warm"):
            runs = sorted(
                (r for r in rows if (r["method"], r["preset"]) == (method, preset)), key=lambda r: r["seed"]
            )
            grown = [r["grown"] for r in runs]
            line += [", ".join(f"{100 * r['accuracy']:.1f}" for r in runs), percent(runs, "accuracy")]
            line.append(f"x{min(grown):.2f} to x{max(grown):.2f}")
        body.append(line)
    head = ["method", "`paper`, by seed, %", "mean", "weights", "`paper-warm`, by seed, %", "mean", "weights"]
    return markdown(head, body)


def further_passes() -> str:
    """Running statistics of batch norm from the samples alone, and from a method's own inputs too."""
    rows = results("further_passes", "further passes")
    body = []
    for method in ("standard", "lcvd", "srcc"):
        ways = [
            [r for r in rows if (r["method"], r["statistics"]) == (method, way)]
            for way in ("samples", "all passes")
        ]
        line = [f"`{method}`", str(len(ways[0])), percent(ways[0], "train_accuracy")]
        body.append(line + [percent(way, "accuracy") for way in ways])
    return markdown(
        ["method", "seeds", "training accuracy, %", "statistics of the samples, %", "of all passes, %"], body
    )


def many_classes() -> str:
    """Few and many classes, clean and dirty, by each confidence."""
    rows = results("many_classes", "many classes")
    methods = ("standard", "gl", "gl-relative")
    body = []
    for classes in sorted({r["classes"] for r in rows}):
        for what in ("clean", "20 % OOD"):
            cell = [r for r in rows if (r["classes"], r["data"]) == (classes, what)]
            line = [f"{classes} classes, {what}", str(len({r["seed"] for r in cell}))]
            body.append(line + [percent([r for r in cell if r["method"] == m], "accuracy") for m in methods])
    return markdown(["training set", "seeds", *(f"`{method}`" for method in methods)], body)


def large_audits() -> str:
    """The audit beside cleanlab as rows grow."""
    body = [
        [
            f"{r['rows']:,}",
            f"{r['cpu_seconds']:.1f}",
            f"{r['ap']:.4f}",
            f"{r['cleanlab_cpu_seconds']:.1f}",
            f"{r['cleanlab_ap']:.4f}",
            f"{r['ratio']:.1f}",
        ]
        for r in results("scale", "scale, cleanlab")
    ]
    head = ["rows", "audit, s", "average precision", "cleanlab, s", "its average precision", "ratio"]
    return markdown(head, body)


def lists_and_parts() -> str:
    """What neighbours in lists, and two parts, cost on real cells."""
    ways = ("ap_all_pairs", "ap_lists", "ap_parts")
    body = [
        [r["cell"], f"{r['samples']:,}", *(f"{r[way]:.4f}" for way in ways)]
        for r in results("scale", "scale, cells")
    ]
    return markdown(["cell", "rows", "all pairs", "lists", "two parts"], body)


def data() -> str:
    """Reading against the bare library."""
    body = []
    for r in results("data", "read-table") + results("data", "image-cache"):
        ours, bare = ("first_pass", "pillow") if "side" in r else ("graylearn", "pyarrow")
        what = (
            f"10,000 JPEGs of {r['side']} pixels, first pass"
            if "side" in r
            else "Arrhythmia, 87,554 x 187, gzip"
        )
        body.append([what, f"{r['seconds'][ours]:.1f}", f"{r['seconds'][bare]:.1f}", f"{r['ratio']:.2f}"])
    return markdown(["what", "seconds", "pyarrow or Pillow alone", "ratio"], body)


def sharing() -> str:
    """Workers on one GPU: each alone and all together."""
    body = []
    for r in sorted(results("sharing", "sharing"), key=lambda row: (row["epochs"], row["workers"])):
        speeds = r["images_per_second"]
        body.append([str(r["workers"]), str(r["epochs"]), f"{mean(speeds):,.0f}", f"{sum(speeds):,.0f}"])
    return markdown(["workers", "epochs", "images/s of one", "of all"], body)


TABLES: dict[str, Callable[[], str]] = {
    "loss, normal": lambda: loss("cuda", "normal"),
    "loss, peaked": lambda: loss("cuda", "peaked"),
    "loss, cpu": lambda: loss("cpu", "normal"),
    "tables": tables,
    "gpu": gpu,
    "data": data,
    "large audits": large_audits,
    "lists and parts": lists_and_parts,
    "last batch": last_batch,
    "first steps": first_steps,
    "many classes": many_classes,
    "further passes": further_passes,
    "sharing": sharing,
}


if __name__ == "__main__":
    bring_up_to_date({PAGE: lambda page: filled(page, TABLES)})
