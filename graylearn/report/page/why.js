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

const chanceText = (chance) => (chance < 0.01 ? "under 1%" : chance > 0.99 ? "over 99%" : percent(chance, 0));

/** The class that a suspect may be given at one click: the suggested one, or of a sample that seems to belong to
 * none, that which at least half of its nearest samples bear or which is likelier than all others; else -1. */
function offered(row) {
  const own = samples.label[row];
  const [verdict, label] = suggestion(row);
  if (!samples.suspected[row] || verdict === RELABEL) return label;
  const near = nearestRows(row).map((other) => samples.label[other]);
  const most = near.find((k) => 2 * near.filter((each) => each === k).length >= near.length) ?? -1;
  const [best, chance] = likelyClasses(row)[0] ?? [-1, 0];
  return [chance >= 0.5 ? best : -1, most].find((k) => k >= 0 && k !== own) ?? -1;
}

/** How many of the nearest samples bear each label, in words; null where they are not known. */
function nearestWords(row) {
  const near = nearestRows(row);
  if (!near.length) return null;
  const labels = new Map();
  for (const other of near) labels.set(samples.label[other], (labels.get(samples.label[other]) ?? 0) + 1);
  const own = labels.get(samples.label[row]) ?? 0;
  const [most, times] = [...labels].sort((a, b) => b[1] - a[1])[0];
  const all = near.length;
  if (own === all) return [` Its ${all} nearest samples bear the same label.`];
  if (times > 1 && most !== samples.label[row]) {
    const many = times === all ? `All ${all}` : `${capital(["", "one", "two", "three"][times] ?? String(times))} of the ${all}`;
    return [` ${many} samples nearest to it are labelled `, said(report.classes[most], 40), "."];
  }
  if (labels.size === all) return [` Its ${all} nearest samples bear ${all} different labels.`];
  return [` ${own} of the ${all} samples nearest to it bear${own === 1 ? "s" : ""} its label.`];
}

/** One sentence or two: what speaks against the label of a suspect. */
function whyWords(row) {
  const likely = likelyClasses(row);
  if (!samples.suspected[row] || !likely.length) return null;
  const given = samples.confidence[row];
  const [best, chance] = likely[0];
  const name = (k) => el("strong", null, said(report.classes[k], 40));
  const own = samples.label[row];
  const parts = [];
  if (samples.kind[row] === 2 && best !== own && chance < 0.5) {
    parts.push(`${capital(report.judge)} saw no class in it: even the likeliest, `, name(best), `, got ${chanceText(chance)}.`);
  } else if (samples.kind[row] === 2 && best === own) {
    parts.push(`Its label is the likeliest class at ${chanceText(chance)}, yet it lies apart from the samples that belong there.`);
  } else if (samples.kind[row] === 2) {
    parts.push(`${capital(report.judge)} gave its label ${chanceText(given)} and leaned to `, name(best),
      ` (${chanceText(chance)}), yet it lies apart from the samples of that class too.`);
  } else if (best === own) {
    parts.push(`${capital(report.judge)} still gave its label ${chanceText(given)}, but `, name(samples.suggested[row]),
      " explains where it lies better.");
  } else {
    parts.push(`${capital(report.judge)} gave its label ${chanceText(given)} and `, name(best), ` ${chanceText(chance)}.`);
  }
  return el("p", { class: "why" }, parts, nearestWords(row));
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
