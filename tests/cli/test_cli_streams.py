"""Standard input and output: `-` where data or a file is asked for."""

import io
import signal
import sys

import pandas as pd
import pytest
from cli_helpers import write_csv

from graylearn.cli import main
from graylearn.errors import DataError
from graylearn.paths import saved_input


def ran(monkeypatch, capfdbinary, *words, given=b""):
    """(exit code, what was written to standard output) of a command in this process."""
    monkeypatch.setattr(sys, "argv", ["graylearn", *map(str, words)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    code, terminated = 0, signal.getsignal(signal.SIGTERM)
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        signal.signal(signal.SIGTERM, terminated)
    sys.stdout.flush()
    return code, capfdbinary.readouterr().out


def test_data_come_in_and_go_out_by_pipes(tmp_path, monkeypatch, capfdbinary):
    content = write_csv(tmp_path / "data.csv").read_bytes()
    out = tmp_path / "run"
    code, _ = ran(monkeypatch, capfdbinary, "fit", "-", "--out", out, "--epochs", "2", "-q", given=content)
    assert code == 0
    (kept,) = tmp_path.glob("run-input-*.csv")
    assert kept.read_bytes() == content
    code, answers = ran(monkeypatch, capfdbinary, "predict", out, "-", "--out", "-", "-q", given=content)
    assert code == 0
    assert pd.read_csv(io.BytesIO(answers))["id"].tolist() == list(range(2, 92))
    (tmp_path / "decisions.csv").write_text("id,decision,label\n2,keep,\n")
    code, clean = ran(monkeypatch, capfdbinary, "apply", out, tmp_path / "decisions.csv", "--out", "-")
    assert code == 0
    assert clean == content


def test_what_comes_in_is_known_by_how_it_begins(tmp_path, monkeypatch):
    from graylearn.data import read

    frame = pd.DataFrame({"size": [1, 2], "label": ["cat", "dog"]})
    written = {
        ".parquet": frame.to_parquet(),
        ".jsonl": frame.to_json(orient="records", lines=True).encode(),
        ".json": frame.to_json(orient="records").encode(),
        ".csv": frame.to_csv(index=False).encode(),
    }
    for ending, content in written.items():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        path = saved_input(tmp_path / "input")
        assert path.name.startswith("input-")
        assert path.suffix == ending
        assert read(path).x["size"].tolist() == [1, 2]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(DataError, match="there is nothing on standard input"):
        saved_input(tmp_path / "input")


def test_a_name_that_begins_like_an_option(tmp_path, monkeypatch, capfdbinary):
    (tmp_path / "-a.csv").write_text("one,two\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["graylearn", "audit", "-a.csv", "--out", "run"])
    with pytest.raises(SystemExit):
        main()
    assert b"-a.csv has a header (one, two) but no rows" in capfdbinary.readouterr().err
