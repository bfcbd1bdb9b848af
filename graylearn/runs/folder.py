"""The run folder: its files, whether its run is finished, and who may write.

    RUN/
      settings.toml       what would repeat the run; written first
      environment.json    versions and hardware
      data.json           what was read: path, size, hash, columns; what `predict` and `apply` need of it
      samples.parquet     every sample of the source: id, label, and whether it was held out for testing
      model/              the classifier; see GrayClassifier.save
      audit.csv           one row per sample: id label confidence score suspected level kind suggested
                          because (why), and group (of copies) where they were looked for
      audit.parquet       the same
      consensus.csv       of several annotators: the data with the consensus as their label (or .parquet);
                          annotators.csv: how good each is; ask_again.csv: the least sure samples first
      log.jsonl           one row per epoch of each fit
      run.log             what the run said, with times
      report.html         the page a person opens
      summary.json        what was found and measured; written last, so a folder that has it is finished
      stages/             what a killed run has finished, to go on from; gone when the run is finished

Every file is written whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import graylearn
from graylearn.data.atomic import alone, replacing, restrict, write_json, write_text
from graylearn.data.formats import FORMATS, Origin
from graylearn.data.formats.images import listed
from graylearn.data.samples import Label
from graylearn.data.tables import PIXELS_SIZE, ReadOptions
from graylearn.data.written import (
    Hashes,
    changed,
    check_read,
    hashes,
    is_read_only,
    known,
    names,
    permissions,
    place,
    record,
)
from graylearn.errors import CheckpointError, DataError, FolderTakenError, GraylearnError, SettingsError
from graylearn.paths import as_path
from graylearn.runs.settings import RunSettings, first_difference, read_settings, settings_from, to_toml

Way = Literal["columns", "pixels", "image-embedding", "text-embedding", "numbers"]


@dataclass(frozen=True)
class Encoding:
    """How samples become features, as data.json keeps it for `predict`."""

    way: Way
    """The `columns` of a table, `numbers` of an array, `pixels`, or an embedding."""
    model: str | None = None
    """The pretrained network of an embedding."""
    size: int = PIXELS_SIZE
    """Pixels a side of decoded images."""
    shape: tuple[int, ...] = ()
    """Of one sample of numbers or pixels; () for the columns of a table."""

    @property
    def words(self) -> str:
        """For people."""
        return {
            "columns": "the columns of the table",
            "numbers": "the numbers as they are",
            "pixels": f"a network on pixels ({' x '.join(map(str, self.shape))})",
            "image-embedding": f"image features of {self.model}",
            "text-embedding": f"sentence vectors of {self.model}",
        }[self.way]


@dataclass(frozen=True)
class Source:
    """What data.json tells."""

    origin: Origin
    """What was read."""
    encoding: Encoding
    """How samples become features."""
    fingerprint: dict[str, Any]
    """What to know the data again by: size and hash of what was read."""
    classes: tuple[Label, ...]
    """In order."""

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "source": self.origin.to_json(),
            "fingerprint": self.fingerprint,
            "encoding": asdict(self.encoding),
            "classes": [str(label) for label in self.classes],
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Source:
        """What `to_json` gave; an AttributeError, KeyError, TypeError or ValueError of anything else."""
        encoding = Encoding(**{**saved["encoding"], "shape": tuple(saved["encoding"]["shape"])})
        origin = Origin.from_json(saved["source"])
        FORMATS[origin.form], Path(origin.path)
        return cls(origin, encoding, dict(saved["fingerprint"]), tuple(saved["classes"]))


def options_of(settings: RunSettings, size: int, split: str | None) -> ReadOptions:
    """The options for reading data that follow from the settings."""
    told: dict[str, Any] = {
        each.name: getattr(settings, each.name, each.default) for each in fields(ReadOptions)
    }
    told |= {"id": False if settings.no_id else settings.id, "size": size, "split": split}
    return ReadOptions(**told)


LABELS = "labels"
"""Where the fingerprint of data in no file keeps how often each label occurs."""


def check_unchanged(
    data: Path, form: str, ids: Sequence[str], hashes: Iterable[str] | None, fingerprint: dict[str, Any]
) -> None:
    """Refuse data that changed since the audit; data that came from no file cannot be compared.

    ids, hashes: (N,) the samples of the run, and where they are images the hash of each.
    """
    mend = "since it was audited; audit it anew, or bring the old state back"
    if hashes is not None:
        for path in (data, *(data / name for name in ids)):
            if not path.exists():
                raise DataError(f"{path} is gone {mend}")
    found, now = FORMATS[form].fingerprint(data, ids)
    for name, before, after in zip(ids, () if hashes is None else hashes, now or (), strict=False):
        if before != after:
            raise DataError(f"{data / name} has changed {mend}")
    if found != fingerprint and LABELS not in fingerprint:
        raise DataError(f"{data} has changed {mend}")


def other_images(data: Path, ids: Iterable[str]) -> list[str]:
    """Other images in the class folders of `data`: new ones, or ones that cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is no image was told when it was read
        names = listed(data, ReadOptions(labelled=False))[0]  # a class folder may be empty by now
    return sorted({name for name in names if "/" in name} - set(ids))


_LOCK = ".lock"
KIND = "run"
_MOVING, _REPLACED = ".graylearn-moving", ".graylearn-replaced"
"""Where a run that is made anew waits until the new one has read its data."""


class RunFolder:
    """The paths in a run folder, and the small files among them."""

    def __init__(self, path: str | Path) -> None:
        self.path = as_path(path)
        """The folder itself."""
        self.settings_file = self.path / "settings.toml"
        self.environment = self.path / "environment.json"
        self.data = self.path / "data.json"
        self.samples = self.path / "samples.parquet"
        self.model = self.path / "model"
        self.consensus_csv = self.path / "consensus.csv"
        self.consensus_parquet = self.path / "consensus.parquet"
        self.annotators = self.path / "annotators.csv"
        self.ask_again = self.path / "ask_again.csv"
        self.audit_csv = self.path / "audit.csv"
        self.audit_parquet = self.path / "audit.parquet"
        self.log = self.path / "log.jsonl"
        self.run_log = self.path / "run.log"
        self.report = self.path / "report.html"
        self.stages = self.path / "stages"
        self.summary = self.path / "summary.json"

    @property
    def _entries(self) -> list[Path]:
        """Everything a run writes; summary.json, which marks its end, is last."""
        return [entry for entry in vars(self).values() if entry is not self.path]

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished."""
        return self.summary.exists()

    @property
    def is_started(self) -> bool:
        """Whether a run has read its data, so that it can be resumed."""
        return self.data.exists()

    def settings(self) -> RunSettings:
        """The settings of the run."""
        return settings_from(read_settings(self.settings_file), str(self.settings_file))

    def write_settings(self, settings: RunSettings) -> None:
        """Write settings.toml, with the command that repeats the run."""
        comment = (
            f"graylearn {graylearn.__version__}; this repeats the run:\n"
            f"graylearn {settings.command} --settings settings.toml --out ANOTHER_FOLDER"
        )
        write_text(self.settings_file, to_toml(settings, comment))

    def source(self) -> Source:
        """What `write_source` wrote."""
        try:
            return Source.from_json(self.read_json(self.data))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, CheckpointError):
                raise
            reason = f"{error} is missing or unknown" if isinstance(error, KeyError) else error
            raise CheckpointError(
                f"{self.data} is damaged ({reason}); make the run anew, or bring it back"
            ) from error

    def write_source(self, source: Source) -> None:
        """data.json: what was read, and how."""
        write_json(self.data, source.to_json())

    def read_json(self, file: Path) -> dict[str, Any]:
        """The content of a JSON file of the folder; an error explains why it is missing or damaged."""
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise CheckpointError(f"{self._why_not(file)}") from error
        except PermissionError as error:
            raise CheckpointError(f"{file} may not be read: permission denied") from error
        except (OSError, ValueError, RecursionError) as error:
            raise CheckpointError(f"{file} is damaged ({error}); make the run anew") from error
        if not isinstance(found, dict):
            raise CheckpointError(
                f"{file} is damaged (it holds no names and values); make the run anew, or bring it back"
            )
        return found

    def finish(self, summary: dict[str, Any]) -> None:
        """Finish the run: write its summary, and remove what only resuming needs."""
        with replacing(self.summary) as partial:
            write_json(partial, summary)
            # first, so that what is killed from here on is known and may be replaced
            found = {**self.hashes(stages=True), self.summary.name: hashes(partial)[""]}
            record(place(self.path), KIND, found)
        shutil.rmtree(self.stages, ignore_errors=True)

    def check_finished(self) -> None:
        """Refuse a folder without a finished run."""
        if not self.is_finished:
            raise CheckpointError(self._why_not(self.summary))

    def _why_not(self, missing: Path) -> str:
        if not self.path.is_dir():
            why = "it is a file" if self.path.exists() else "there is no such folder"
            return f"{self.path} is not a run folder: {why}"
        if not self.settings_file.exists():
            return f"{self.path} is not a run folder: it has no settings.toml"
        if not self.is_finished:
            return (
                f"the run in {self.path} is not finished; go on with it first: "
                f"graylearn {self.settings().command} --settings {quote(str(self.settings_file))} "
                f"--out {quote(str(self.path))}"
            )
        return f"{missing} is missing; make the run anew"

    def _clear(self, kept: Iterable[Path] = ()) -> None:
        """Remove what a run wrote, summary.json first, and nothing else."""
        for entry in reversed(self._entries):
            if entry in kept:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)

    def _check_links(self) -> None:
        """Refuse links in the folder: through them a run would write or remove files elsewhere."""
        for entry in (*self._entries, self.path / _MOVING, self.path / _REPLACED):
            for name in names(entry) if os.path.lexists(entry) else ():
                if (entry / name).is_symlink():
                    raise changed(entry / name)

    def _set_aside(self) -> None:
        """Put what a run wrote where it can be taken back from, all of it or, after a kill, none."""
        (self.path / _MOVING).mkdir()
        for entry in self._present:
            entry.rename(self.path / _MOVING / entry.name)
        (self.path / _MOVING).rename(self.path / _REPLACED)

    def _settle(self) -> None:
        """Take the run back that was set aside, unless another has read its data since."""
        moving, aside = self.path / _MOVING, self.path / _REPLACED
        if aside.exists() and self.is_started:
            shutil.rmtree(aside, ignore_errors=True)
        elif aside.exists():
            self._clear()
            aside.rename(moving)
        if moving.exists():
            for entry in moving.iterdir():
                entry.rename(self.path / entry.name)
            moving.rmdir()

    @property
    def _present(self) -> list[Path]:
        """Those of the run's entries that exist."""
        return [entry for entry in self._entries if os.path.lexists(entry)]

    def hashes(self, *, stages: bool) -> Hashes:
        """Hashes of what the run wrote; stages change all the time until it is finished."""
        return {
            f"{entry.name}/{name}".rstrip("/"): each
            for entry in self._present
            if entry != self.stages or stages
            for name, each in hashes(entry).items()
        }

    def _check_ours(self, ours: Mapping[str, list[str]] | None, *, overwrite: bool) -> None:
        """Refuse a folder with files in the way that graylearn did not write.

        A run whose ledger was lost, or that another machine began, may be resumed but not replaced.
        """
        there = sorted(entry.name for entry in self.path.iterdir() if not entry.name.startswith("."))
        if there and not self.is_started and (ours is None or not self.settings_file.exists()):
            raise FolderTakenError(
                f"{self.path} is not empty and no run folder of graylearn's (it holds {there[0]}); "
                "name another with --out"
            )
        if not there or (self.is_started and not overwrite):
            return
        if ours is None:
            raise FolderTakenError(
                f"it is not known that graylearn wrote the run in {self.path}, so it is not replaced; "
                "name another folder with --out, or remove it first"
            )
        begun = self._entries if self.is_started else self._early
        late = set() if self.is_finished else {entry.name for entry in begun}
        for name, each in self.hashes(stages=self.is_finished).items():
            # what a killed run wrote last was not told to the ledger
            known_by = [*ours.get(name, ()), *[each] * (name.partition("/")[0] in late)]
            if each not in known_by or is_read_only(self.path / name):
                raise changed(self.path / name)

    @property
    def _early(self) -> list[Path]:
        """What a run may write before data.json."""
        crowd = [self.consensus_csv, self.consensus_parquet, self.annotators, self.ask_again]
        return [self.settings_file, self.environment, self.run_log, *crowd]


@contextmanager
def writing(path: str | Path, settings: RunSettings, *, overwrite: bool) -> Iterator[RunFolder]:
    """The run folder at `path`, ready for a new run with these settings or to resume one.

    A finished run, or one of other settings, stays as it is unless `overwrite`, and then until the new one
    has read its data. A run that is refused before it has anything to go on with leaves nothing behind.
    """
    folder = RunFolder(path)
    if folder.path.exists() and not folder.path.is_dir():
        raise FolderTakenError(f"{folder.path} is a file; name a folder for the run with --out")
    where = place(folder.path)
    check_read(where, settings.reads)
    made = not folder.path.exists()
    folder.path.mkdir(parents=True, exist_ok=True)
    taken = FolderTakenError(
        f"another run is at work in {folder.path}; wait for it, or name another folder with --out"
    )
    with alone(folder.path / _LOCK, taken):
        folder._check_links()
        folder._settle()  # a run may have been killed while another stood aside
        ours = known(where, KIND)
        folder._check_ours(ours, overwrite=overwrite)
        if folder.is_started and not overwrite:
            _check_goes_on(folder, settings)
        for left in folder.path.rglob(".graylearn-????????-*"):  # or while it wrote a file
            if left.is_file():
                left.unlink(missing_ok=True)
        if overwrite and folder._present:
            folder._set_aside()
        if not folder._present:
            restrict(folder.path, permissions(settings.reads))
        kept = folder._present
        record(where, KIND, {}, ours)
        if not folder.is_started:
            folder.write_settings(settings)
        try:
            yield folder
        except GraylearnError:
            # stages may hold the embeddings of a run that was killed, which are worth keeping
            if not folder.is_started and not any(folder.stages.glob("*")):
                folder._clear(kept)
                with suppress(OSError):  # Windows keeps a lock that is held; or somebody put something there
                    (folder.path / _LOCK).unlink(missing_ok=True)
                    if made:
                        folder.path.rmdir()
            raise
        finally:
            begun = folder.is_started
            if folder.path.exists():
                folder._settle()
            if begun or not folder.is_started:
                record(where, KIND, folder.hashes(stages=folder.is_finished))
            else:  # the one before came back
                record(where, KIND, {}, ours)


def _check_goes_on(folder: RunFolder, settings: RunSettings) -> None:
    try:
        difference = first_difference(folder.settings(), settings)
    except SettingsError as error:
        raise FolderTakenError(f"{error}; --overwrite makes the run anew") from error
    state = "a finished" if folder.is_finished else "an unfinished"
    if difference is not None:
        raise FolderTakenError(
            f"{folder.path} holds {state} run of other settings ({difference}); "
            "name another folder with --out, or replace the run with --overwrite"
        )
    if folder.is_finished:
        label = folder.settings().label
        of = "of these settings" if label is None else f"with labels from column {label!r}"
        raise FolderTakenError(
            f"{folder.path} holds a finished run {of}: open {folder.report}, or make it anew with --overwrite"
        )


def check_same_data(folder: RunFolder, data: str, fingerprint: dict[str, Any]) -> None:
    """Refuse to resume a run on data that have changed."""
    if folder.is_started and folder.read_json(folder.data).get("fingerprint") != fingerprint:
        raise FolderTakenError(
            f"{data} has changed since the run in {folder.path} was begun; "
            "make it anew with --overwrite, or name another folder with --out"
        )
