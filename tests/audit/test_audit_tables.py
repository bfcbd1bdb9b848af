"""The tables in docs/lab/audit.md show what results/audit.jsonl holds, and are made without it too."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import audit_tables  # noqa: E402


def test_without_results_the_page_stays_as_it_is(tmp_path):
    page = (ROOT / "docs" / "lab" / "audit.md").read_text(encoding="utf-8")
    assert audit_tables.START in page
    assert audit_tables.END in page.partition(audit_tables.START)[2]
    assert audit_tables.filled(page, tmp_path / "none.jsonl") == page


def test_every_cell_counts_alike_and_repeated_or_broken_lines_do_not(tmp_path):
    """Two seeds of one cell and one of another: the mean of cell means, not of rows."""
    rows = [("a", 0, 0.5), ("a", 1, 0.7), ("b", 0, 1.0), ("b", 0, 0.8)]
    lines = [
        json.dumps(
            {
                "experiment": "audit", "cell": cell, "setting": "ood20", "seed": seed, "K": 8, "ap": ap,
                "method": "cleanlab mlp", "auroc": ap,
            }
        )
        for cell, seed, ap in rows
    ]  # fmt: skip
    path = tmp_path / "audit.jsonl"
    path.write_text("\n".join([*lines, '{"experiment": "audit", "ce']))
    found = audit_tables.read(path)
    assert len(found) == 3
    assert audit_tables.average(found, "ap") == (0.6 + 0.8) / 2
    page = f"before\n{audit_tables.START}\nold\n{audit_tables.END}\nafter"
    made = audit_tables.filled(page, path)
    assert "old" not in made
    assert "cleanlab mlp" in made
    assert made.startswith("before")
    assert made.endswith("after")
