"""`graylearn mcp`: the audit as tools of an assistant, over standard input and output, without a network.

What an assistant is shown of a sample is what a person sees: the verdict, and what the report has beside it.
Its decisions are lines of RUN/decisions.jsonl, each with who made it; `apply` alone writes a dataset, a new
one.
Every path lies in the folder that the server was started for.
"""

import base64
import json
import re
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

from graylearn.cli import options as flags
from graylearn.errors import CheckpointError, DataError, GraylearnError, SettingsError
from graylearn.lazy import require

LOG, KIND = "decisions.jsonl", "log of decisions"
MOST = 100
"""Suspects in one answer."""
SUMMARY = ("run", "data", "samples", "classes", "found", "suspected", "sure", "contamination", "ranges",
           "per_class", "copies", "notes", "data_notes", "report")  # fmt: skip
GUIDE = """Find wrong labels and samples of no class in a dataset. Call audit once, list the suspects, look at
those that are unclear, and decide on each, naming who decided. apply writes a cleaned copy; ask the user
first. The data are never changed. A suspect may be right: keep it if the evidence is weak."""


@dataclass
class Choice:
    """One decision; label: the new label, of relabel alone; why: one sentence for whoever reads the log."""

    id: str
    decision: Literal["keep", "drop", "relabel"]
    label: str = ""
    why: str = ""


def mcp(
    folder: Annotated[
        Path,
        flags.path_argument(help="The folder of the data; no path outside it is read or written."),
    ] = Path(),
) -> None:
    """Serve audits to an assistant by the Model Context Protocol, over standard input and output.

    Tools: audit, suspects, look, decide, apply, check. Needs the extra mcp; uses no network.

    Example, as an assistant's settings name it:

      {"command": "graylearn", "args": ["mcp", "/home/me/data"]}
    """
    served(folder).run("stdio")


def served(folder: Path) -> Any:
    """The server, whose tools read and write in this folder alone."""
    require("mcp", "mcp")
    from mcp.server.mcpserver import Context, Image, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    import graylearn
    from graylearn.runs import RunProgress
    from graylearn.runs import check as checking
    from graylearn.runs import run as run_settings
    from graylearn.runs.apply import apply_decisions
    from graylearn.runs.settings import settings_from

    root, quiet, one = Path(folder).resolve(strict=True), RunProgress(quiet=True), threading.Lock()
    server = MCPServer("graylearn", version=graylearn.__version__, instructions=GUIDE, log_level="WARNING")

    def tool(function: Callable[..., Any]) -> Callable[..., Any]:
        """A tool: one at a time, errors in a sentence, and nothing on standard output but the protocol."""

        @wraps(function)
        def called(*given: Any, **named: Any) -> Any:
            with one, redirect_stdout(sys.stderr):
                try:
                    return function(*given, **named)
                except GraylearnError as error:
                    raise ToolError(str(error)) from error

        return server.tool(structured_output=False)(called)

    def within(given: str) -> Path:
        path = root / given
        if not given or not path.resolve().is_relative_to(root) or ":/" in given:
            raise SettingsError(f"{given!r} lies outside {root}, the folder of this server")
        return path

    def settings(data: str, **chosen: Any) -> Any:
        told = {name: value for name, value in chosen.items() if value}
        found = settings_from({"data": str(within(data)), "command": "audit", **told}, "the assistant")
        found.check_data()
        return found

    @tool
    def audit(
        data: str,
        label: str = "",
        text: str = "",
        group: str = "",
        without: tuple[str, ...] = (),
        run: str = "",
    ) -> dict[str, Any]:
        """Find samples whose label is wrong or that belong to no class; writes a run folder beside the data.

        data: a CSV, Parquet or other table, or a folder of images with one folder per class.
        label: its column of labels; text: a column of texts to learn from; group: a column that says which
        samples belong together; without: columns to leave out, such as who labelled; run: another run folder.
        """
        from graylearn.paths import beside

        chosen = settings(data, label=label, text=text, group=group, without=without)
        out = within(run or str(beside(chosen.data, "audit")))
        summary = run_settings(chosen, out, overwrite=False, progress=quiet)
        return {name: summary.get(name) for name in SUMMARY}

    @tool
    def suspects(
        run: str,
        start: int = 0,
        count: int = 20,
        kind: Literal["", "mislabelled", "ood"] = "",
        undecided: bool = False,
    ) -> dict[str, Any]:
        """List the suspects of a run, the strongest first, each with its evidence and what was decided.

        kind: mislabelled alone, or ood (belongs to no class) alone. undecided: only those without a decision.
        """
        shown = _Shown(within(run))
        made = decided(shown)
        names = [
            name
            for name, row in shown.rows.items()
            if row["suspected"] and kind in ("", row["kind"]) and not (undecided and name in made)
        ]
        part = names[max(start, 0) : max(start, 0) + min(count, MOST)]
        listed = [{**shown.evidence(name), "decided": made.get(name)} for name in part]
        return {"suspects": len(names), "notes": shown.main["notes"], "listed": listed}

    @tool
    def look(run: str, id: str) -> list[Any]:
        """Look at one sample: its row, text or picture, its evidence, and the samples nearest to it."""
        shown = _Shown(within(run))
        told, picture = shown.content(id)
        about = {**shown.evidence(id), "content": told, "nearest": shown.nearest(id)}
        return [about] if picture is None else [about, Image(data=picture[1], format=picture[0])]

    @tool
    def decide(run: str, decisions: list[Choice], by: str, context: Context) -> dict[str, Any]:
        """Log decisions: keep, drop, or relabel to a class. A later one replaces an earlier one.

        by: who decided, a person's name or the assistant's. Nothing is changed before apply.
        """
        shown = _Shown(within(run))
        if not by.strip():
            raise SettingsError("by is empty: name who decided")
        client = context.session.client_params
        known = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "by": by.strip(),
            "through": "" if client is None else f"{client.client_info.name} {client.client_info.version}",
            "run": shown.main["run"],
        }
        lines = []
        for each in decisions:
            given, label = str(shown.row(each.id)["label"]), each.label
            if each.decision == "relabel" and label not in shown.main["classes"]:
                raise DataError(f"{label!r} is no class; classes are {', '.join(shown.main['classes'][:20])}")
            kept = replace(each, label=label if each.decision == "relabel" else "")
            lines.append(json.dumps({**known, **asdict(kept), "given": given}, ensure_ascii=False))
        _append(shown.folder / LOG, lines)
        return {"logged": len(lines), "decided": len(decided(shown)), "log": str(shown.folder / LOG)}

    @tool
    def apply(
        run: str, out: str, undecided: Literal["keep", "drop", "suggested"] = "keep", only_sure: bool = False
    ) -> dict[str, Any]:
        """Write a cleaned copy of the dataset to a new path, by the decisions of the log. Ask the user first.

        undecided: what becomes of suspects without a decision; only_sure: of those that the audit is sure of.
        """
        from graylearn.report import Decision

        shown = _Shown(within(run))
        within(str(Path(shown.run.source().origin.path)))
        made = [
            Decision(each["id"], each["decision"], each["label"] or None, each["given"], each["run"])
            for each in decided(shown).values()
        ]
        if not made and undecided == "keep":
            raise SettingsError(
                "there is nothing to apply: decide first, or say what becomes of undecided suspects"
            )
        return apply_decisions(within(run), made, within(out), suspects=undecided, only_sure=only_sure)

    @tool
    def check(
        data: str, label: str = "", text: str = "", against: str = "", allowed: str = "0"
    ) -> dict[str, Any]:
        """Audit a dataset and tell whether it has more new suspects than allowed; writes nothing.

        allowed: a number or a share, such as 2%. against: a file of suspects that were accepted before.
        """
        file = within(against) if against else None
        found = checking.check(
            settings(data, label=label, text=text), against=file, max_suspects=allowed, progress=quiet
        )
        return {"words": found.words, **checking.in_json(found)}

    return server


def decided(shown: "_Shown") -> dict[str, dict[str, Any]]:
    """The last decision about each sample, of those that were made about this very run."""
    log, found = shown.folder / LOG, {}
    try:
        for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
            each = json.loads(line)
            if each["run"] == shown.main["run"]:
                found[each["id"]] = each
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{log} is damaged ({error}): mend or remove it") from error
    return found


def _append(log: Path, lines: list[str]) -> None:
    """Add lines to the log, which is whole or as it was."""
    from graylearn.data.written import writing

    if log.is_symlink():
        raise DataError(f"{log} is a link, which is not followed: remove it")
    before = log.read_bytes() if log.is_file() else b""
    with writing(log, KIND, update=True) as partial:
        partial.write_bytes(before + "".join(f"{line}\n" for line in lines).encode())


class _Shown:
    """What a run found, and what its report shows beside it."""

    def __init__(self, folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        from graylearn.runs.folder import RunFolder

        self.folder, self.run = folder, RunFolder(folder)
        self.run.check_finished()
        page = self.run.report.read_text(encoding="utf-8")
        blocks = re.findall(
            r'<script type="application/json" (id="data"|class="previews")>(.*?)</script>', page, re.S
        )
        if not blocks:
            raise CheckpointError(f"{self.run.report} is no report of this version: make the run anew")
        self.main: dict[str, Any] = json.loads(blocks[0][1])
        self._previews = [block for _, block in blocks[1:]]
        self._index = dict(zip(map(str, self.main["id"]), self.main["index"], strict=True))
        self._names = {index: name for name, index in self._index.items()}
        table = pq.read_table(self.run.audit_parquet)
        listed = pc.is_in(table["id"].cast(pa.string()), pa.array([*self._index], pa.string()))
        # all suspects, and what the report lists beside them: a set may be larger than the memory
        found = table.filter(pc.or_(table["suspected"], listed)).to_pylist()
        found.sort(key=lambda row: -row["score"])
        self.rows: dict[str, dict[str, Any]] = {str(row["id"]): row for row in found}

    def row(self, name: str) -> dict[str, Any]:
        """What was found of a sample."""
        if name not in self.rows:
            raise DataError(f"{name!r} is no sample that the report of {self.folder} lists")
        return self.rows[name]

    def evidence(self, name: str) -> dict[str, Any]:
        """What speaks against a sample."""
        row = self.row(name)
        suggested = None if row["suggested"] is None else str(row["suggested"])
        return {
            "id": name,
            "label": str(row["label"]),
            "kind": row["kind"],
            "level": row["level"],
            "score": round(row["score"], 4),
            "confidence_in_label": round(row["confidence"], 4),
            "suggested": suggested,
            "because": row["because"] or None,
            "likely": self._likely(name),
        }

    def _beside(self, what: str, name: str, count: int) -> list[list[int]]:
        """What stands beside a sample, by the names of its columns; empty where nothing does."""
        found, index = self.main["beside"][what] or {"of": ()}, self._index.get(name)
        if index not in found["of"]:
            return []
        at = found["of"].index(index)
        return [found[each][at * count :][:count] for each in ("classes", "chance", "index") if each in found]

    def _likely(self, name: str) -> dict[str, float]:
        """The most probable classes, by views that at best did not see its label."""
        found = self.main["beside"]["likely"]
        both = self._beside("likely", name, found["count"] if found else 0)
        return {self.main["classes"][k]: chance / 1000 for k, chance in zip(*both, strict=True)}

    def nearest(self, name: str) -> list[dict[str, str]]:
        """The samples most like it, and their labels, as far as the report lists them."""
        found = self._beside("nearest", name, self.main["beside"]["compared"])
        names = [self._names[each] for each in (found[0] if found else ()) if each in self._names]
        return [{"id": each, "label": str(self.rows[each]["label"])} for each in names]

    def content(self, name: str) -> tuple[Any, tuple[str, bytes] | None]:
        """(what a sample is, in words; its picture as format and bytes)."""
        about, index = self.main["previews"], self._index.get(name)
        if index not in about["index"]:
            return None, None
        block, at = divmod(about["index"].index(index), about["block"])
        item = json.loads(self._previews[block])[at]
        if item[0] == "image":
            head, _, code = item[1].partition(";base64,")
            return "a picture", (head.removeprefix("data:image/"), base64.b64decode(code))
        if item[0] == "text":
            return item[1], None
        return dict(zip(about["columns"][item[1]], item[2], strict=True)), None
