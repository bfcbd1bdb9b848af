// One sample, as a row of the list or as a tile of the grid.

const COLUMNS_AT_FIRST = 8;

const PIXELS_UP_TO = 40;

/** A picture; of few pixels each is shown as it is, since smoothing would blur all there is. */
function pictureOf(item, attributes) {
  const image = el("img", { src: item[1], ...attributes });
  image.addEventListener("load", () => image.classList.toggle("pixels", Math.max(image.naturalWidth, image.naturalHeight) <= PIXELS_UP_TO));
  return image;
}

/** A picture that opens large when it is clicked; null where the sample has none. */
function pictureButton(row, look) {
  const item = previewOf(row);
  if (!item || item[0] !== "image") return null;
  const alt = `picture of ${short(idName(row), 60)}`;
  return el("button", { type: "button", class: `${look} picture-button`, title: "Enlarge", onclick: () => enlarge(row) },
    pictureOf(item, { alt, decoding: "async" }));
}

function cellPairs(names, values) {
  return names.map((name, at) =>
    el("div", null, el("dt", null, said(name, 40)), el("dd", null, said(values[at], 120))));
}

/** The columns in which a row is odd, beside the middle of the classes in question. */
function oddTable(row, oddest) {
  const { names, middle } = report.previews.odd;
  const own = samples.label[row];
  const other = samples.suspected[row] ? samples.suggested[row] : -1;
  const compared = [own, ...(other >= 0 && other !== own ? [other] : [])];
  return el("table", { class: "odd" },
    el("caption", { class: "unseen" }, "Columns in which it is odd, and the median or commonest value of the classes"),
    el("thead", null, el("tr", null,
      el("th", { scope: "col" }, "odd in"), el("th", { scope: "col" }, "this"),
      compared.map((k) => el("th", { scope: "col" }, "usual ", said(report.classes[k], 18))))),
    el("tbody", null, oddest.slice(0, 4).map(([column, value]) =>
      el("tr", null, el("th", { scope: "row" }, said(names[column], 32)), el("td", null, el("b", null, said(value, 40))),
        compared.map((k) => el("td", { class: "muted" }, said(middle[k][column], 40)))))));
}

function rowContent(row, [, which, values, leftOut, oddest]) {
  const names = report.previews.columns[which];
  const pairs = cellPairs(names, values);
  const rest = leftOut ? `, ${plural(leftOut, "column")} left out` : "";
  if (oddest.length) {
    return [oddTable(row, oddest),
      el("details", null, el("summary", null, `all ${plural(pairs.length, "column")}${rest}`), el("dl", { class: "cells" }, pairs))];
  }
  const parts = [el("dl", { class: "cells" }, pairs.slice(0, COLUMNS_AT_FIRST))];
  if (pairs.length > COLUMNS_AT_FIRST || leftOut) {
    parts.push(el("details", null,
      el("summary", null, `${plural(pairs.length - COLUMNS_AT_FIRST, "more column")}${rest}`),
      el("dl", { class: "cells" }, pairs.slice(COLUMNS_AT_FIRST))));
  }
  return parts;
}

function contentOf(row) {
  const item = previewOf(row);
  if (item?.[0] === "row") return rowContent(row, item);
  if (item?.[0] !== "text") return null;
  const rest = item[2] ? el("span", { class: "muted" }, ` (${plural(item[2], "more character")})`) : null;
  return el("p", { class: "sample-text" }, el("bdi", { dir: "auto" }, visible(item[1])), rest);
}

function verdictButtons(row) {
  const label = offered(row);
  const button = (verdict, name, act, look = null) =>
    el("button", { type: "button", class: look, "data-verdict": verdict, "aria-pressed": "false", onclick: act }, name);
  const [verdict] = suggestion(row);
  // what is dropped is lost: its button comes first where that is suggested, and does not stand out; nor does a
  // class of a picture that shows little
  const advised = verdict === RELABEL && !oddPictures.has(row);
  const accept = label >= 0
    ? el("button", { type: "button", "data-accept": label, "aria-pressed": "false", class: advised ? "accept first advised" : "accept",
        title: advised ? "Accept what the audit suggests" : "The class that it resembles most",
        onclick: () => decideRows([row], () => [RELABEL, label], true) }, el("span", null, "→\u00a0", said(report.classes[label], 22)))
    : null;
  const keep = button(KEEP, "Keep", () => decideRows([row], () => [KEEP, -1], true));
  const drop = button(DROP, "Drop", () => decideRows([row], () => [DROP, -1], true), verdict === DROP ? "first" : null);
  return el(
    "div",
    { class: "verdict", role: "group", "aria-label": `Decision for ${short(idName(row), 60)}` },
    verdict === DROP ? [drop, accept, keep] : [accept, keep, drop],
    button(RELABEL, "Relabel", () => askLabel(row)),
  );
}

/** What the audit says of a row, in words. */
function claim(row) {
  const given = el("strong", null, said(report.classes[samples.label[row]], 60));
  const parts = [el("span", { class: "muted" }, "labelled "), given];
  if (samples.kind[row] === 1 && samples.suggested[row] >= 0) {
    parts.push(el("span", { class: "muted" }, ", looks like "), el("strong", null, said(report.classes[samples.suggested[row]], 60)));
  } else if (samples.kind[row] === 2) {
    parts.push(el("span", { class: "muted" }, ", belongs to no class"));
  } else if (!samples.suspected[row] && offered(row) >= 0) {
    parts.push(el("span", { class: "muted" }, ", looks most like "), el("strong", null, said(report.classes[offered(row)], 60)));
  }
  return el("p", { class: "claim" }, parts);
}

function whichLine(row) {
  const kind = samples.kind[row];
  const level = samples.level?.[row] ?? 0;
  return el("p", { class: "which" },
    el("span", { class: `chip ${KINDS[kind]}` }, KIND_NAMES[kind]),
    level ? el("span", { class: `chip level-${level}` }, LEVEL_NAMES[level]) : null,
    oddPictures.has(row) ? el("span", { class: "chip" }, oddPictures.get(row)) : null,
    el("span", { class: "id" }, said(idName(row), 90)),
    alikeButton(row));
}

function sampleItem(row) {
  const item = el(
    "li",
    { class: "sample", "data-row": row, tabindex: "-1" },
    pictureButton(row, "picture"),
    el("div", { class: "what" }, claim(row), whichLine(row), whyWords(row), contentOf(row)),
    el("div", { class: "how" },
      el("p", { class: "score" },
        el("span", { class: "muted", title: "1 is the least likely to belong" }, `rank ${number(row + 1)} `),
        el("span", null, el("span", { class: "muted" }, "score "), el("b", null, samples.score[row].toFixed(3)))),
      chanceBars(row) ??
        el("p", { class: "score muted" }, el("span", null, "confidence "), el("span", null, samples.confidence[row].toFixed(3)))),
    verdictButtons(row),
    el("p", { class: "outcome", "data-outcome": "" }),
    compareArea(row),
  );
  markVerdict(item, row);
  return item;
}

/** The same, small: to look at many pictures at once. */
function tileItem(row) {
  const item = el(
    "li",
    { class: "sample tile-sample", "data-row": row, tabindex: "-1" },
    pictureButton(row, "picture") ?? el("p", { class: "no-picture muted" }, said(idName(row), 40)),
    claim(row),
    verdictButtons(row),
    el("p", { class: "outcome", "data-outcome": "" }),
  );
  markVerdict(item, row);
  return item;
}

/** Show on an item what is decided for its row. */
function markVerdict(item, row) {
  const verdict = decided.verdict[row];
  const accept = item.querySelector("[data-accept]");
  const accepted = verdict === RELABEL && accept && decided.label[row] === Number(accept.dataset.accept);
  item.dataset.decided = VERDICTS[verdict];
  for (const button of item.querySelectorAll("[data-verdict]")) {
    const pressed = Number(button.dataset.verdict) === verdict && !(accepted && verdict === RELABEL);
    button.setAttribute("aria-pressed", String(pressed));
  }
  accept?.setAttribute("aria-pressed", String(accepted));
  const outcome = item.querySelector("[data-outcome]");
  const label = verdict === RELABEL ? report.classes[decided.label[row]] : null;
  outcome.title = label === null ? "" : short(label, 500);
  outcome.replaceChildren(...(label === null ? [] : ["will be ", said(label, 60)]));
}
