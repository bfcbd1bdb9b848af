// What one decision is enough for: pairs of given and suggested label, of all and of each group of samples that
// belong together, and near duplicates.

const PAIRS_AT_FIRST = 8;
const PAIRS_AT_MOST = 200;

/** Suspects by given label and suggestion, and by what `groupOf` says of a row; the largest group first. */
function findPairs(groupOf) {
  const found = new Map();
  for (let row = 0; row < count; row++) {
    if (!samples.suspected[row]) continue;
    const [verdict, label] = suggestion(row);
    const target = verdict === RELABEL ? label : -1;
    const [group, given] = [groupOf(row), samples.label[row]];
    const key = `${group} ${given} ${target}`;
    if (!found.has(key)) found.set(key, { group, given, target, rows: [] });
    found.get(key).rows.push(row);
  }
  return [...found.values()].sort(
    (a, b) => b.rows.length - a.rows.length || a.group - b.group || a.given - b.given || a.target - b.target);
}

/** Pairs of all suspects, and those of each group of samples that belong together: lists by the card they are in. */
const pairs = findPairs(() => -1);
const pairLists = { pairs, together: report.groups ? findPairs((row) => report.groups.of[row]).filter(({ rows }) => rows.length > 1) : [] };

/** The suspects whose label is their class misspelt, as Python found it. */
const misspelt = new Map(report.misspelt);
const isMisspelt = ({ given, target }) => target >= 0 && misspelt.get(given) === target;
const misspeltRows = pairs.filter(isMisspelt).flatMap(({ rows }) => rows);

const pairName = ({ group, given, target }) => [
  group < 0 ? null : [said(report.groups.names[group], 30), ": "],
  said(report.classes[given], 30),
  target < 0 ? null : [" → ", said(report.classes[target], 30)],
].flat();

/** How many suspects there are; of a group that is known, out of how many samples. */
const pairTimes = ({ group, rows }) => (group < 0 ? `${number(rows.length)} × ` : `${number(rows.length)} of ${number(report.groups.sizes[group])} in `);

function pairLine(card, at) {
  const pair = pairLists[card][at];
  const button = (name, choose) =>
    el("button", { type: "button", "aria-describedby": `${card}-${at}`, onclick: () => decideUndecided(pair.rows, choose) }, name);
  return el("tr", { "data-pair": at },
    el("th", { scope: "row", id: `${card}-${at}` },
      el("button", { type: "button", class: "link", title: "Show them", onclick: () => showOnly(pair.rows, el("span", null, pairName(pair), pair.target < 0 ? " that belong to no class" : null)) },
        el("span", null, el("span", { class: "times" }, pairTimes(pair)), pairName(pair)))),
    el("td", { class: "muted group-done" }),
    el("td", { class: "pair-buttons" },
      button(pair.target < 0 ? "Drop" : el("span", null, "→\u00a0", said(report.classes[pair.target], 16)), suggestion),
      button("Keep", () => [KEEP, -1])));
}

function pairTable(card, name, isOf, limit) {
  const which = pairLists[card].map((_, at) => at).filter((at) => isOf(pairLists[card][at]));
  if (!which.length) return null;
  const shown = which.slice(0, limit);
  const rest = Math.min(which.length, PAIRS_AT_MOST) - shown.length;
  return el("div", null,
    el("table", { class: "pair-table" }, el("caption", null, name), el("tbody", null, shown.map((at) => pairLine(card, at)))),
    rest > 0 ? el("button", { type: "button", class: "quiet more", onclick: () => drawPairs(card, PAIRS_AT_MOST) }, `Show ${plural(rest, card === "pairs" ? "more pair" : "more group")}`) : null);
}

function drawPairs(card, limit = PAIRS_AT_FIRST) {
  byId(`${card}-card`).hidden = !(pairLists[card][0]?.rows.length > 1); // of one sample each, they are the list again
  const tables = [
    pairTable(card, "Probably misspelt", isMisspelt, PAIRS_AT_MOST),
    pairTable(card, "Look like another class", (pair) => pair.target >= 0 && !isMisspelt(pair), limit),
    pairTable(card, "Belong to no class", ({ target }) => target < 0, limit),
  ];
  byId(card).replaceChildren(...tables.filter(Boolean));
  markPairs();
}

/** Show on a line how much of its group is decided. */
function markGroup(line, { rows }) {
  const done = rows.reduce((sum, row) => sum + Boolean(decided.verdict[row]), 0);
  line.querySelector(".group-done").textContent = done ? (done === rows.length ? "all decided" : `${number(done)} decided`) : "";
  for (const button of line.querySelectorAll(".pair-buttons button")) button.disabled = done === rows.length;
}

function markPairs() {
  for (const [card, list] of Object.entries(pairLists)) {
    for (const line of byId(card).querySelectorAll("[data-pair]")) markGroup(line, list[Number(line.dataset.pair)]);
  }
}

// -- pictures that show little, whatever their labels say -------------------------------------------------

const checkRows = (indices) => indices.map((index) => rowOfIndex[index]).filter((row) => row >= 0);

/** What is odd about a picture, by its row. */
const oddPictures = new Map(report.checks.flatMap(([words, indices]) => checkRows(indices).map((row) => [row, words])));

function drawChecks() {
  const lines = report.checks.map(([words, indices], at) => {
    const rows = checkRows(indices);
    const button = (name, choose) => el("button", { type: "button", "aria-describedby": `check-${at}`, onclick: () => decideUndecided(rows, choose) }, name);
    return el("tr", null,
      el("th", { scope: "row", id: `check-${at}` }, el("button", { type: "button", class: "link", title: "Show them", onclick: () => showOnly(rows, el("span", null, `pictures that are ${words}`)) },
        el("span", null, el("span", { class: "times" }, `${number(indices.length)} × `), words))),
      el("td", { class: "pair-buttons" }, button("Drop", () => [DROP, -1]), button("Keep", () => [KEEP, -1])));
  });
  byId("checks-card").hidden = !lines.length;
  byId("checks").replaceChildren(el("table", { class: "pair-table" }, el("caption", { class: "unseen" }, "Pictures that show little, by what is odd"), el("tbody", null, lines)));
}

// -- how often a label is mistaken ------------------------------------------------------------------------

function drawMistaken(limit = PAIRS_AT_FIRST) {
  // Less than half a sample is no row of its own.
  const all = (report.mistaken ?? []).filter(([, , samples, , suspects]) => Math.round(samples) || suspects)
    .sort((one, other) => Math.round(other[2]) - Math.round(one[2]) || other[3] - one[3]);
  byId("mistaken-card").hidden = all.length === 0;
  const heads = ["what is labelled", "is", "of the label", "samples", "suspects"];
  const table = el(
    "table",
    { class: "pairs" },
    el("caption", { class: "unseen" }, "Estimated share of each label that is of another class, most samples first"),
    el("thead", null, el("tr", null, heads.map((name, at) => el("th", { scope: "col", class: at > 1 ? "numbers" : null }, name)))),
    el("tbody", null, all.slice(0, limit).map(([label, other, expected, share, suspects]) =>
      el("tr", null, el("td", null, said(report.classes[label], 30)), el("td", null, other < 0 ? "other classes, a few each" : said(report.classes[other], 30)),
        el("td", { class: "numbers" }, percent(share)), el("td", { class: "numbers" }, number(Math.round(expected))),
        el("td", { class: "numbers" }, number(suspects))))),
  );
  const rest = all.length - limit;
  byId("mistaken").replaceChildren(table,
    ...(rest > 0 ? [el("button", { type: "button", class: "quiet more", onclick: () => drawMistaken(all.length) }, `Show ${plural(rest, "more pair")}`)] : []));
}

// -- near duplicates -------------------------------------------------------------------------------------

const alikeGroups = report.copies.map((group) => group.indices);
const alikeOfRow = new Map();
alikeGroups.forEach((group, which) => {
  for (const index of group) if (rowOfIndex[index] >= 0) alikeOfRow.set(rowOfIndex[index], which);
});

/** A button that shows the near duplicates of a row; null where it has none. */
function alikeButton(row) {
  if (!alikeOfRow.has(row)) return null;
  const rows = alikeGroups[alikeOfRow.get(row)].map((index) => rowOfIndex[index]).filter((other) => other >= 0);
  if (rows.length < 2) return null;
  const name = el("span", null, "the near duplicates of ", said(idName(row), 40));
  return el("button", { type: "button", class: "link alike", onclick: () => showOnly(rows, name) },
    plural(rows.length - 1, "near duplicate"));
}
