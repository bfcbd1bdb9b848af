"""What a run's numbers look like on a terminal."""

import pandas as pd
import pytest
from blobs import blobs

from graylearn.audit import KINDS
from graylearn.audit.kinds import shown_shares
from graylearn.cli.show import show_run
from graylearn.runs import RunProgress, RunSettings, run


def test_shares_add_up_to_all_of_the_samples():
    for counts in ((1761, 239, 0), (1829, 171, 0), (1997, 2, 1), (0, 1, 2), (3, 0, 0), (0, 0, 0)):
        shown = [f"{share:.1%}" for share in shown_shares(dict(zip(KINDS, counts, strict=True))).values()]
        assert sum(round(10 * float(share[:-1])) for share in shown) == (1000 if any(counts) else 0)
    assert shown_shares({"ok": 1761, "mislabelled": 239, "ood": 0})["ok"] == pytest.approx(0.881)


def test_the_strongest_suspects_are_of_those_that_were_counted(tmp_path, capsys):
    x, y = blobs(300)
    table = pd.DataFrame(x).assign(label=pd.Series(["GALAXY", "STAR", "QSO"]).to_numpy()[y])
    table.loc[[0, 3, 6, 9], "label"] = "STAR"  # wrong
    table.loc[[2, 5, 8], "label"] = "QS0"  # misspelt
    table.to_csv(tmp_path / "stars.csv", index=False)
    settings = RunSettings(command="audit", data=str(tmp_path / "stars.csv"), label="label")
    summary = run(settings, tmp_path / "run", progress=RunProgress(quiet=True))
    show_run(summary)
    said = capsys.readouterr().out
    assert f"the 5 strongest of {summary['suspected']} suspects" in said
    assert said.count("relabel: QSO") == 3
    assert "300 samples, 3 classes and 1 misspelt label" in said
    assert (summary["classes"], summary["misspelt"], summary["method"]) == (3, 1, None)
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert '["Classes","3"]' in report
    assert '["Method",' not in report, "nothing was trained"
    show_run({**summary, "suspected": 5})
    assert " the suspects " in capsys.readouterr().out
