// What was found: the counts, the notes, and the classes as bars.

const CLASSES_AT_FIRST = 12;
const CLASSES_AT_MOST = 500;

function drawTiles() {
  const unflagged = numSuspects ? "too little speaks against them" : "nothing stands out enough; that is not to say clean";
  const words = [unflagged, "another class explains them", "no class explains them"];
  const tiles = KINDS.map((kind, at) =>
    el(
      "div",
      { class: `tile ${kind}` },
      el("p", { class: "tile-name" }, el("span", { class: `dot ${kind}`, "aria-hidden": "true" }), KIND_NAMES[at]),
      el("p", { class: "tile-number" }, number(report.counts[kind])),
      el("p", { class: "muted" }, `${percent(report.shares[kind])}${report.counts[kind] ? ` · ${words[at]}` : ""}`),
    ),
  );
  const share = report.contamination;
  if (share) {
    const untold = share.total === null;
    const [low, high] = report.ranges.total ?? [0, 0];
    const range = high ? `probably ${percent(low)} to ${percent(high)}; ` : "";
    const parts = untold
      ? "why is among the notes"
      : `${range}mislabelled ${percent(share.mislabelled)}, no class ${percent(share.ood)}`;
    tiles.push(
      el(
        "div",
        { class: "tile" },
        el("p", { class: "tile-name" }, "estimated contamination"),
        el("p", { class: "tile-number" }, untold ? "not judged" : percent(share.total)),
        el("p", { class: "muted" }, parts),
      ),
    );
  }
  byId("tiles").append(...tiles);
  byId("notes").append(...report.notes.map(noteItem));
  byId("reading-box").hidden = !report.reading.length;
  byId("reading-words").textContent = `How the data were read: ${plural(report.reading.length, "note")}`;
  byId("reading").append(...report.reading.map(noteItem));
}

/** A note; where it speaks of one value of a column, or of a folder, with a link to the suspects there. */
function noteItem(note) {
  const [, column, value] = report.gathered.find(([words]) => words === note) ?? [];
  const filters = columnNames.includes(column) ? { column, value } : column === "folder" ? { search: `${value}/` } : null;
  return el("li", { class: "note" }, said(note, 600), filters ? [" ", listLink("Show these suspects", () => showList(filters))] : null);
}

/** One line a class: name, bar of its samples by kind, number of suspects; most suspects first. */
function classLine(k, longest) {
  const [ok, mislabelled, ood] = report.perClass[k];
  const all = ok + mislabelled + ood;
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.width = `${(100 * all) / longest}%`;
  [ok, mislabelled, ood].forEach((part, kind) => {
    if (!part) return;
    const piece = el("span", { class: `piece ${KINDS[kind]}` });
    piece.style.flexGrow = part;
    bar.append(piece);
  });
  const share = all ? (mislabelled + ood) / all : 0;
  const words = `${plural(all, "sample")}, ${mislabelled} mislabelled, ${ood} of no class`;
  return el(
    "tr",
    { "data-class": k },
    el(
      "th",
      { scope: "row" },
      el("button", { type: "button", class: "link", title: "Show its suspects", onclick: () => showClass(k) },
        said(report.classes[k], 40)),
    ),
    el("td", { class: "bar-cell" }, bar, el("span", { class: "unseen" }, words)),
    el("td", { class: "numbers" }, number(mislabelled + ood)),
    el("td", { class: "numbers muted share" }, percent(share, 0)),
    el("td", { class: "numbers muted done" }),
  );
}

function drawClasses(limit = CLASSES_AT_FIRST) {
  const flagged = ([, mislabelled, ood]) => mislabelled + ood;
  const order = report.classes.map((_, k) => k);
  order.sort((a, b) => flagged(report.perClass[b]) - flagged(report.perClass[a]) || a - b);
  const longest = Math.max(1, ...report.perClass.map((row) => row[0] + row[1] + row[2]));
  const table = el(
    "table",
    { class: "classes" },
    el("caption", { class: "unseen" }, "Samples by given label and kind, most suspects first"),
    el(
      "thead",
      null,
      el("tr", null, el("th", { scope: "col" }, "label"), el("th", { scope: "col" }, "samples"),
        el("th", { scope: "col", class: "numbers" }, "suspects"), el("th", { scope: "col", class: "numbers share" }, "share"),
        el("th", { scope: "col", class: "numbers" }, "decided")),
    ),
    el("tbody", null, order.slice(0, limit).map((k) => classLine(k, longest))),
  );
  const parts = [table];
  const more = Math.min(order.length, CLASSES_AT_MOST);
  if (limit < more) {
    const text = more < order.length ? `Show the first ${number(more)} classes` : `Show all ${number(more)} classes`;
    parts.push(el("button", { type: "button", class: "quiet", onclick: () => drawClasses(more) }, text));
  } else if (more < order.length) {
    parts.push(el("p", { class: "muted" }, `${number(order.length - more)} more classes are not drawn.`));
  }
  byId("classes").replaceChildren(...parts);
  markClasses(tally().byClass);
}

function kindLegend() {
  return KINDS.map((kind, at) =>
    el("li", null, el("span", { class: `dot ${kind}`, "aria-hidden": "true" }), KIND_NAMES[at]),
  );
}

function drawAbout() {
  byId("facts").append(
    ...report.facts.map(([name, value]) => el("div", null, el("dt", null, said(name, 80)), el("dd", null, said(value, 300)))),
  );
  const limits = [];
  if (count < report.total) {
    limits.push(`The list holds all suspects and the samples of the largest scores: ${number(count)} of ${number(report.total)}.`);
  }
  const { index, leftOut } = report.previews;
  if (leftOut) {
    limits.push(
      `To keep this file small, ${number(index.length)} samples are shown with their content ` +
        `and ${number(leftOut)} by their id alone; suspects of the largest scores come first.`,
    );
  }
  limits.push("Decisions stay in this browser until they are downloaded; nothing leaves this file by itself.");
  byId("limits").append(...limits.map((text) => el("li", null, text)));
}
