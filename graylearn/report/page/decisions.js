// What the person decided: one verdict a sample, undo, and a copy in the browser's storage.

const VERDICTS = ["", "keep", "drop", "relabel"];
const KEEP = 1;
const DROP = 2;
const RELABEL = 3;

const decided = {
  verdict: new Uint8Array(count),
  label: new Int32Array(count).fill(-1),
};
const undoSteps = [];
const storageKey = `graylearn:decisions:${report.run}`;

/** What the audit suggests for a row: another label, dropping it, or keeping it. */
function suggestion(row) {
  if (!samples.suspected[row]) return [KEEP, -1];
  const other = samples.suggested[row];
  return samples.kind[row] === 1 && other >= 0 && other !== samples.label[row] ? [RELABEL, other] : [DROP, -1];
}

/** Decide for rows: `choose(row)` gives [verdict, label]; a step that undo takes back whole. */
function decide(rows, choose) {
  takeFromStorage();
  const changed = [];
  for (const row of rows) {
    const [verdict, label] = choose(row);
    if (decided.verdict[row] === verdict && decided.label[row] === label) continue;
    changed.push([row, decided.verdict[row], decided.label[row]]);
    decided.verdict[row] = verdict;
    decided.label[row] = label;
  }
  if (changed.length) {
    undoSteps.push(changed);
    saveDecisions();
  }
  return changed.map(([row]) => row);
}

/** Take the last step back; the rows that changed. */
function undo() {
  const step = undoSteps.pop();
  if (!step) return [];
  takeFromStorage();
  for (const [row, verdict, label] of step) {
    decided.verdict[row] = verdict;
    decided.label[row] = label;
  }
  saveDecisions();
  return step.map(([row]) => row);
}

/** How many samples have each verdict, how many suspects have any, in all and by given label. */
function tally() {
  const of = [0, 0, 0, 0];
  const byClass = new Int32Array(report.classes.length);
  let suspects = 0;
  for (let row = 0; row < count; row++) {
    of[decided.verdict[row]] += 1;
    if (!decided.verdict[row] || !samples.suspected[row]) continue;
    suspects += 1;
    byClass[samples.label[row]] += 1;
  }
  return { keep: of[KEEP], drop: of[DROP], relabel: of[RELABEL], all: count - of[0], suspects, byClass };
}

let lastStored = null;

function saveDecisions() {
  const kept = [];
  for (let row = 0; row < count; row++) {
    if (decided.verdict[row]) kept.push([samples.index[row], decided.verdict[row], decided.label[row]]);
  }
  const written = JSON.stringify(kept);
  if (storage.set(storageKey, written)) lastStored = written;
}

/** Decisions from an earlier visit or another tab, as [row, verdict, label]; null where there are none. */
function storedDecisions(written) {
  let kept;
  try {
    kept = JSON.parse(written);
  } catch {
    return null;
  }
  if (!Array.isArray(kept)) return null;
  const found = [];
  for (const entry of kept) {
    if (!Array.isArray(entry)) continue;
    const [index, verdict, label] = entry;
    const row = rowOfIndex[index];
    const known = Number.isInteger(label) && label >= 0 && label < report.classes.length;
    if (row === undefined || row < 0 || ![KEEP, DROP, RELABEL].includes(verdict)) continue;
    if (verdict === RELABEL && !known) continue;
    found.push([row, verdict, verdict === RELABEL ? label : -1]);
  }
  return found;
}

/** Take over what the storage holds where somebody else wrote it since; whether anything was taken.
 *
 * Every change begins with this, so that a tab never writes over what another one decided. */
function takeFromStorage() {
  const written = storage.get(storageKey);
  if (written === null || written === lastStored) return false;
  const kept = storedDecisions(written);
  if (!kept) return false;
  lastStored = written;
  decided.verdict.fill(0);
  decided.label.fill(-1);
  for (const [row, verdict, label] of kept) {
    decided.verdict[row] = verdict;
    decided.label[row] = label;
  }
  return true;
}
