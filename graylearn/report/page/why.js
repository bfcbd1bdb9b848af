// Why a sample is suspected, in a sentence and in numbers: how likely its classes are, and what it is like.

const beside = report.beside;
const likelyOfIndex = beside.likely && whereIn(beside.likely.of);
const nearestOfIndex = beside.nearest && whereIn(beside.nearest.of);

/** The most probable classes of a row, best first: [class, chance]; [] where they are not known. */
function likelyClasses(row) {
  const at = likelyOfIndex ? likelyOfIndex[samples.index[row]] : -1;
  if (at < 0) return [];
  const { count: few, classes, chance } = beside.likely;
  return Array.from({ length: few }, (_, which) => [classes[at * few + which], chance[at * few + which] / 1000]);
}

/** The rows nearest to a row, nearest first, as far as they are in this file. */
function nearestRows(row) {
  const at = nearestOfIndex ? nearestOfIndex[samples.index[row]] : -1;
  if (at < 0) return [];
  const found = beside.nearest.index.slice(at * beside.compared, (at + 1) * beside.compared);
  return found.map((index) => rowOfIndex[index]).filter((other) => other >= 0);
}

/** Rows that show what a class usually looks like. */
function typicalRows(k) {
  if (!beside.typical || k < 0) return [];
  return beside.typical[k].map((index) => rowOfIndex[index]).filter((row) => row >= 0);
}

/** The class that a sample may be given at one click: of a suspect the suggested one, or if it seems to belong to
 * none, that which is likelier than all others or that at least half of its nearest samples bear, suspects not
 * counted; of any other sample the likeliest, unless its picture shows little; -1 where that is its label or none. */
function offered(row) {
  const own = samples.label[row];
  const [verdict, label] = suggestion(row);
  if (verdict === RELABEL) return label;
  if (oddPictures.has(row) && !samples.suspected[row]) return -1;
  if (!samples.suspected[row]) return likelyClasses(row).slice(0, 1).find(([k]) => k !== own)?.[0] ?? -1;
  const near = nearestRows(row).map((other) => (samples.suspected[other] ? -1 : samples.label[other]));
  const most = near.find((k) => 2 * near.filter((each) => each === k).length >= near.length) ?? -1;
  const [best, chance] = likelyClasses(row)[0] ?? [-1, 0];
  return [chance >= 0.5 ? best : -1, most].find((k) => k >= 0 && k !== own) ?? -1;
}

/** What `A` decides: what is suggested for a suspect, for any other sample the class that is offered; null for none. */
function accepted(row) {
  if (samples.suspected[row]) return suggestion(row);
  const label = offered(row);
  return label >= 0 ? [RELABEL, label] : null;
}

/** What speaks against the label of a suspect: the audit's sentence, from its evidence. */
function whyWords(row) {
  const told = samples.because?.[row];
  return told ? el("p", { class: "why" }, said(capital(told), 400), ".") : null;
}

/** The given label and the likeliest classes as bars. */
function chanceBars(row) {
  const likely = likelyClasses(row);
  if (!likely.length) return null;
  const own = samples.label[row];
  const lines = [[own, samples.confidence[row]], ...likely.filter(([k]) => k !== own)];
  return el("ul", { class: "chances", "aria-label": `How likely each class is to ${report.judge}` },
    lines.map(([k, chance]) => {
      const bar = el("span", { class: "chance-bar" });
      bar.style.width = `${Math.max(1, 100 * chance)}%`;
      return el("li", { class: k === own ? "given" : null },
        el("span", { class: "chance-name" }, said(report.classes[k], 22), k === own ? el("span", { class: "tag" }, "label") : null),
        el("span", { class: "chance-number" }, percent(chance, chance < 0.0995 ? 1 : 0)),
        el("span", { class: "chance-ground", "aria-hidden": "true" }, bar));
    }));
}

// -- what it is like -------------------------------------------------------------------------------------

/** A sample made small: its picture, the beginning of its text, or its id; and its label. */
function mini(row) {
  const item = previewOf(row);
  const label = el("span", { class: "mini-label" }, said(report.classes[samples.label[row]], 18), samples.suspected[row] ? [" ", el("span", { class: "tag" }, "suspect")] : null);
  if (item?.[0] === "image") return el("li", { class: "mini" }, pictureButton(row, "mini-picture"), label);
  if (item?.[0] === "text") return el("li", { class: "mini words" }, el("span", { class: "mini-text" }, said(item[1], 110)), label);
  return el("li", { class: "mini words" }, el("span", { class: "mini-text" }, said(idName(row), 40)), label);
}

function strip(name, rows) {
  if (!rows.length) return null;
  return el("div", { class: "strip" }, el("p", { class: "strip-name" }, name), el("ul", null, rows.map(mini)));
}

/** How sure the network was of the label while it learned it, which is memory and no evidence. */
function trainingPart(row) {
  const drawn = sparkline(row);
  if (!drawn) return null;
  const last = curveOf(row).findLast((value) => !Number.isNaN(value));
  const learned = last > 0.5 && samples.confidence[row] < 0.5;
  const words = learned
    ? "Memorised in the end, which is no evidence for the label."
    : "Confidence in its label of a network that learned from it.";
  return el("div", { class: "strip training" }, el("p", { class: "strip-name" }, "in training"), drawn, el("p", { class: "muted small" }, words));
}

/** Samples to compare with, below a sample. */
function compareArea(row) {
  const other = samples.suspected[row] ? samples.suggested[row] : -1;
  const likely = likelyClasses(row)[0]?.[0] ?? -1;
  const second = other >= 0 ? other : likely;
  const shows = samples.suspected[row] && previewOf(row)?.[0] !== "row"; // a row stands beside medians already
  const usual = (k) => (k < 0 ? null : strip(["typical of ", el("b", null, said(report.classes[k], 24))], typicalRows(k)));
  const parts = [
    strip("nearest to it", nearestRows(row)),
    shows ? usual(samples.label[row]) : null,
    shows && second !== samples.label[row] ? usual(second) : null,
    trainingPart(row),
  ].filter(Boolean);
  return parts.length ? el("div", { class: "compare" }, parts) : null;
}
