"""Tables of docs/lab, made from results/*.jsonl: trees, test time, networks and audits of people's labels.

python benchmarks/lab_tables.py            # write them into the pages, between their markers
python benchmarks/lab_tables.py --check    # only say whether the pages are as the results make them
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parent))
import human_noise_tables
import test_time
import trees
import unseen_tables
from lab_pages import bring_up_to_date, filled, markdown
from tables import ROOT, Row, results

LAB = ROOT / "docs" / "lab"
Values = dict[str, dict[str, list[float]]]
"""What was measured, one value a seed, by line and column of a table."""


def table(values: Values, columns: list[str], form: str, sizes: bool = True) -> str:
    """Means over seeds; a last column has the mean over those that all lines have, and `sizes` the seeds."""
    columns = [each for each in columns if any(each in line for line in values.values())]
    common = [each for each in columns if all(each in line for line in values.values())]
    seeds = {each: max(len(line.get(each, [])) for line in values.values()) for each in columns}
    head = ["", *(f"{each} ({seeds[each]})" if sizes else each for each in columns), "mean"]
    body = []
    for name, line in values.items():
        cells = [form.format(mean(line[each])) if line.get(each) else "-" for each in columns]
        body.append([name, *cells, form.format(mean(mean(line[each]) for each in common))])
    return markdown(head, body)


def measured_of_trees(
    methods: Sequence[str], core: Sequence[str], setting: str, size: int, what: str, measured: str
) -> Values:
    """One measure by method and table, of the seeds that all of `core` have; a method that lacks one of
    them has no value there. Of two rows of one cell the later counts.
    """
    found = {
        (row["method"], row["table"], row["seed"]): row[measured]
        for row in trees.read()
        if (row["setting"], row["size"], row["what"]) == (setting, size, what)
    }
    values: Values = {method: {} for method in methods}
    for name in trees.TABLES:
        seeds = {seed for _, table, seed in found if table == name}
        seeds = {seed for seed in seeds if all((method, name, seed) in found for method in core)}
        for method in methods:
            own = [found[method, name, seed] for seed in sorted(seeds) if (method, name, seed) in found]
            if seeds and len(own) == len(seeds):
                values[method][name] = own
    return {method: line for method, line in values.items() if line}


def of_trees(setting: str, size: int) -> str:
    """Accuracy by table."""
    return table(
        measured_of_trees(trees.FITS, trees.CORE, setting, size, "fit", "accuracy"),
        list(trees.TABLES),
        "{:.1f}",
    )


def of_tree_means(size: int) -> str:
    """Accuracy in each state of the data, means over the tables, whose number is in brackets."""
    names = {"flip20": "flipped", "foreign": "foreign", "mix": "both", "clean": "clean"}
    core = {
        setting: measured_of_trees(trees.CORE, trees.CORE, setting, size, "fit", "accuracy")
        for setting in names
    }
    body = []
    for method in trees.CORE:
        cells = [mean(map(mean, core[setting][method].values())) for setting in names]
        body.append([method, *(f"{each:.1f}" for each in cells), f"{mean(cells):.1f}"])
    tables = {setting: len(core[setting][trees.CORE[0]]) for setting in names}
    return markdown(["", *(f"{names[each]} ({tables[each]})" for each in names), "mean"], body)


def of_tree_audits(size: int, measured: str) -> str:
    """How well networks and trees find what is bad, by table, in each dirty state."""
    values: Values = {}
    for setting, name in (("flip20", "flipped"), ("foreign", "foreign"), ("mix", "both")):
        found = measured_of_trees(("networks", "hgb"), ("networks", "hgb"), setting, size, "audit", measured)
        values |= {f"{name}, {method}": line for method, line in found.items()}
    return table(values, list(trees.TABLES), "{:.3f}", sizes=False)


def of_scores(setting: str, measured: str) -> str:
    """Every score of the network that cross entropy made and of ours, by set."""
    rows = [row for row in test_time.read() if row["setting"] == setting]
    values: Values = defaultdict(lambda: defaultdict(list))
    for method in ("standard", "gl"):
        for row in rows:
            if row["method"] == method:
                for score, found in row["scores"].items():
                    values[f"{method}, {score}"][row["set"]].append(found[measured])
    return table(values, list(test_time.SETS), "{:.3f}")


def of_methods(setting: str) -> str:
    """The methods, each by the score that goes with it, and by ours: means over sets, of what all have."""
    found = {
        (row["method"], row["set"], row["seed"]): row
        for row in test_time.read()
        if row["setting"] == setting and row["set"] != "digits"
    }
    cells = {key[1:] for key in found}
    cells = {cell for cell in cells if all((method, *cell) in found for method in test_time.METHODS)}

    def average(method: str, of: Callable[[Row], float]) -> float:
        by_set = defaultdict(list)
        for name, seed in cells:
            by_set[name].append(of(found[method, name, seed]))
        return mean(map(mean, by_set.values()))

    body = []
    for method in test_time.METHODS:
        for score in dict.fromkeys((test_time.SCORE_OF[method], test_time.OURS)):
            measures = [
                average(method, lambda row, m=m, s=score: row["scores"][s][m])  # type: ignore[misc]
                for m in ("auroc", "aupr_in", "aupr_out", "fpr95")
            ]
            right = 100 * average(method, lambda row: row["accuracy"])
            body.append([f"{method}, {score}", *(f"{each:.3f}" for each in measures), f"{right:.1f}"])
    return markdown(["", "AUROC", "AUPR-in", "AUPR-out", "FPR95", "accuracy, %"], body)


def of_people() -> str:
    """Networks that learned from people's labels, by what they learned from and how."""
    names = {
        "standard": "standard, the labels as they are",
        "gl": "gl, the labels as they are",
        "gl+refine": "gl + refine, as it comes",
        "oracle": "standard, the true labels",
        "choose": "choose, the method, the labels as they are",
    }
    body = []
    for row in results("human", "human"):
        cell, found = row["cell"], row["measured"]
        labels = "both" if cell["labels"] == "none" else cell["labels"]
        body.append(
            [labels, names[cell["method"]], str(cell["epochs"]), "-", f"{100 * found['accuracy']:.1f}"]
        )
    for row in results("human_refine", "human-refine"):
        what = "beliefs" if row.get("taught", 1.0) == 1 else f"{100 * row['taught']:.0f} % of the images"
        right = row["beliefs_right"]
        if row["way"] == "choose":
            what = f"{row.get('told', 'labels')} and own answers"
            right = row.get("answers_right", right)  # in the end it teaches itself its answers
        way = f"{what}, {row['way']}" + (", after a first round" if row["first_round"] else "")
        right, accurate = f"{100 * right:.1f}", f"{100 * row['accuracy']:.1f}"
        body.append([row["labels"], way, str(row["epochs"]), right, accurate])
    for row in results("human_choose", "human-choose"):
        if row["together"] and row["networks"] == 1:
            continue  # the row of both follows
        way = f"labels and answers of {'two' if row['together'] else 'one'} by epochs, {row['rule']}"
        way += f", power {row['power']}" if row["power"] > 1 else ""
        way += "" if row["average"] else ", weights as they are"
        way += ", each heeds the other" if row.get("heed") == "other" else ""
        way += f", chosen from {row['chosen_from']:.0%} on" if row.get("chosen_from", 0.15) != 0.15 else ""
        way += ", answers as they are" if row.get("sharpened", 2) == 1 else ""
        way += ", classes even" if row.get("even") else ""
        right, accurate = f"{100 * row['answers_right']:.1f}", f"{100 * row['accuracy']:.1f}"
        body.append([row["labels"], way, str(row["epochs"]), right, accurate])
    body.sort(key=lambda line: (line[0], int(line[2]), float(line[4])))
    return markdown(["labels", "learned", "epochs", "taught right, %", "accuracy, %"], body)


def of_copies() -> str:
    """Precision and recall of wrong labels where samples stand in a set twice, by how copies are asked."""
    found: dict[tuple[str, float], dict[str, list[Row]]] = {}
    for row in results("copies", "copies"):
        found.setdefault((row["name"], row["share"]), {}).setdefault(row["way"], []).append(row)
    body = []
    for (name, share), by_way in found.items():
        line = [name, f"{100 * share:.0f}"]
        for key in ("precision", "recall"):
            line += [f"{mean(row[key] for row in by_way[way]):.2f}" for way in ("each", "once")]
        body.append(line)
    return markdown(["", "copied, %", "precision, each", "once", "recall, each", "once"], body)


def of_groups() -> str:
    """What is found among samples that belong together, by audits that do not know it and that do."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in results("groups", "groups"):
        found.setdefault((row["name"], row["noise"]), {}).setdefault(row["way"], []).append(row)
    body = []
    for (name, noise), by_way in found.items():
        line = [f"{name} ({by_way['plain'][0]['groups']:,})", noise]
        for key in ("flagged", "precision", "recall", "sure", "precision_of_sure"):
            for way in ("plain", "groups"):
                values = [row[key] for row in by_way[way] if row[key] is not None]
                told = 100 * mean(values) if values and key in ("flagged", "sure") else mean(values or [0.0])
                shown = f"{told:.1f}" if key in ("flagged", "sure") else f"{told:.2f}"
                line.append(shown if values else "")
        body.append(line)
    head = ["groups of", "wrong"]
    for key in ("flagged, %", "precision", "recall", "sure, %", "precision of sure"):
        head += [f"{key}, plain", "with groups"]
    return markdown(head, body)


def of_junk() -> str:
    """Rows of junk that are found, by themselves and beside wrong labels, with `far_out` and without."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in results("junk", "junk"):
        found.setdefault((row["group"], row["name"]), []).append(row)
    body = []
    for (group, name), rows in found.items():
        line = [group, f"{name} ({rows[0]['K']})"]
        clean = [row["flagged"] for row in rows if row["way"] == "all" and row["kind"] == "none"]
        line.append(f"{100 * mean(clean):.1f}")
        for wrong in (0.0, 0.1):
            dirty = [row for row in rows if row["wrong"] == wrong and row["kind"] != "none"]
            line += [
                f"{mean(row['recall_junk'] for row in dirty if row['way'] == way):.2f}"
                for way in ("without far_out", "all")
            ]
            right = [
                row["precision"] for row in dirty if row["way"] == "all" and row["precision"] is not None
            ]
            line.append(f"{mean(right):.2f}" if right else "-")
        body.append(line)
    by_itself = ["recall without `far_out`", "with", "precision"]
    beside = ["beside wrong labels: without", "with", "precision"]
    return markdown(["", "set (classes)", "as it is, flagged, %", *by_itself, *beside], body)


def of_second_audits() -> str:
    """Wrong labels in a set and what an audit flags of them, before and after it was cleaned by the first."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in results("audited_again", "audited again"):
        found.setdefault((row["name"], row["way"]), []).append(row)
    body = []
    for name in dict.fromkeys(name for name, _ in found):
        line = [name]
        for way in ("first", "all", "sure"):
            line += [
                f"{mean(row[key] for row in found[name, way]):.0f}" for key in ("wrong", "flagged", "right")
            ]
        body.append(line)
    told = ["wrong", "flagged", "of them wrong"]
    return markdown(["", *told, "all decided: wrong", *told[1:], "sure ones: wrong", *told[1:]], body)


def of_comments() -> str:
    """Wrong labels found in tables with a column of sentences, by what is learned of it."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in results("comments", "comments"):
        found.setdefault((row["group"], row["kind"], row["name"]), []).append(row)
    body = []
    for (group, kind, name), rows in found.items():
        line = [group, name if kind == "beside" else f"questions on {name} subjects"]
        for way in ("without", "before", "now"):
            told = [row for row in rows if row["way"] == way]
            right = [row["precision"] for row in told if row["precision"] is not None]
            line += [f"{mean(right):.2f}" if right else "-", f"{mean(row['recall'] for row in told):.2f}"]
        line.append(f"{100 * mean(row['flagged_clean'] for row in rows if row['way'] == 'now'):.1f}")
        body.append(line)
    ways = [
        f"{way}: {what}" for way in ("without it", "32 always", "now") for what in ("precision", "recall")
    ]
    return markdown(["", "set", *ways, "clean, flagged now, %"], body)


PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "trees.md": {
        "means, 400": lambda: of_tree_means(400),
        "means, 4,000": lambda: of_tree_means(4000),
        "flips, 400": lambda: of_trees("flip20", 400),
        "foreign, 400": lambda: of_trees("foreign", 400),
        "mix, 400": lambda: of_trees("mix", 400),
        "clean, 400": lambda: of_trees("clean", 400),
        "flips, 4,000": lambda: of_trees("flip20", 4000),
        "foreign, 4,000": lambda: of_trees("foreign", 4000),
        "mix, 4,000": lambda: of_trees("mix", 4000),
        "clean, 4,000": lambda: of_trees("clean", 4000),
        "audit, 400": lambda: of_tree_audits(400, "f1"),
        "audit, 4,000": lambda: of_tree_audits(4000, "f1"),
        "precision, 400": lambda: of_tree_audits(400, "average_precision"),
        "precision, 4,000": lambda: of_tree_audits(4000, "average_precision"),
    },
    "people.md": {"networks": of_people},
    "audit.md": {
        "people's labels": lambda: human_noise_tables.summary(ROOT / "results" / "human_noise.jsonl"),
        "unseen": lambda: unseen_tables.summary(ROOT / "results" / "unseen.jsonl"),
        "copies": of_copies,
        "groups": of_groups,
        "junk": of_junk,
        "second audits": of_second_audits,
        "comments": of_comments,
    },
    "test-time.md": {
        "scores, clean": lambda: of_scores("clean", "auroc"),
        "scores, dirty": lambda: of_scores("dirty", "auroc"),
        "methods, clean": lambda: of_methods("clean"),
        "methods, dirty": lambda: of_methods("dirty"),
    },
}


if __name__ == "__main__":
    bring_up_to_date({LAB / name: partial(filled, tables=tables) for name, tables in PAGES.items()})
