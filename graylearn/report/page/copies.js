// Copies: groups of samples that are the same, or nearly, each decided at once.

const COPIES_AT_FIRST = 10;
const COPIES_AT_MOST = 500;
const COPIES_SHOWN = 5;

const copyGroups = report.copies
  .map((group) => ({ ...group, rows: group.indices.map((index) => rowOfIndex[index]).filter((row) => row >= 0) }))
  .filter((group) => group.rows.length > 1 || (group.rows.length && group.test));

/** The row of a group that stays: what a person kept, else one not dropped, not suspected, of the label most of them bear. */
function bestCopy(rows) {
  const bears = new Map();
  for (const row of rows) bears.set(samples.label[row], (bears.get(samples.label[row]) ?? 0) + 1);
  const stays = (row) => ({ [KEEP]: 0, [RELABEL]: 0, [DROP]: 2 })[decided.verdict[row]] ?? 1;
  return [...rows].sort((a, b) => stays(a) - stays(b) || samples.suspected[a] - samples.suspected[b] ||
    bears.get(samples.label[b]) - bears.get(samples.label[a]) || samples.index[a] - samples.index[b])[0];
}

/** Keep one of each group, drop its other copies; what is decided stays. */
function keepOne(groups, pick = bestCopy) {
  const kept = new Set(groups.map((group) => pick(group.rows)));
  decideUndecided(groups.flatMap((group) => group.rows), (row) => (kept.has(row) ? [KEEP, -1] : [DROP, -1]));
}

const labelsOf = (group) => [...new Set(group.rows.map((row) => samples.label[row]))];

function copyButtons(group) {
  if (!group.contradicting) return group.rows.length > 1 ? [el("button", { type: "button", onclick: () => keepOne([group]) }, "Keep one")] : [];
  const one = (label) => el("button", { type: "button", onclick: () => keepOne([group], (rows) => bestCopy(rows.filter((row) => samples.label[row] === label))) },
    el("span", null, "Keep one\u00a0", said(report.classes[label], 16)));
  const all = el("button", { type: "button", onclick: () => decideUndecided(group.rows, () => [DROP, -1]) }, "Drop all");
  return [...labelsOf(group).slice(0, 4).map(one), all];
}

function copyLine(group, at) {
  const name = `${plural(group.rows.length, "sample")}, ${group.exact ? "the same" : "nearly the same"}`;
  const test = group.test ? el("p", { class: "muted small" }, `${plural(group.test, "copy", "copies")} in the test set`) : null;
  const more = group.rows.length - COPIES_SHOWN;
  return el("li", { class: "copy-group", "data-copies": at },
    el("div", { class: "copy-words" },
      el("button", { type: "button", class: "link", title: "Show them", onclick: () => showOnly(group.rows, el("span", null, "copies of ", said(idName(group.rows[0]), 40))) }, name),
      group.contradicting ? el("span", { class: "chip mislabelled" }, "labels differ") : null,
      test, el("p", { class: "muted small group-done" })),
    el("div", { class: "strip" }, el("ul", null, group.rows.slice(0, COPIES_SHOWN).map(mini)),
      more > 0 ? el("p", { class: "muted small" }, `and ${number(more)} more`) : null),
    el("div", { class: "pair-buttons", role: "group", "aria-label": name }, copyButtons(group)));
}

function drawCopies(limit = COPIES_AT_FIRST) {
  byId("copies").hidden = byId("copies-link").hidden = !copyGroups.length;
  if (!copyGroups.length) return;
  const agree = copyGroups.filter((group) => !group.contradicting && group.rows.length > 1);
  const differ = copyGroups.filter((group) => group.contradicting).length;
  byId("copies-words").textContent =
    `${plural(copyGroups.length, "group")} of samples that are the same or nearly` +
    (differ ? `, ${plural(differ, "group")} with different labels.` : ".");
  byId("copies-all").hidden = !agree.length;
  byId("copies-all").onclick = () => keepOne(agree);
  byId("copy-groups").replaceChildren(...copyGroups.slice(0, limit).map(copyLine));
  byId("copies-more").hidden = copyGroups.length <= limit || limit >= COPIES_AT_MOST;
  byId("copies-more").onclick = () => drawCopies(COPIES_AT_MOST);
  markCopies();
}

function markCopies() {
  for (const line of byId("copy-groups").children) markGroup(line, copyGroups[Number(line.dataset.copies)]);
}
