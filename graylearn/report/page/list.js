// The list: which rows pass the filters, in which order, and the one page of them that is in the document.

const view = { rows: new Int32Array(0), page: 0, pageSize: 25, current: 0 };
const haystack = new Array(count);

function chosenFilters() {
  const chosen = (id) => (byId(id).value === "" ? null : Number(byId(id).value));
  return {
    words: byId("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean),
    onlySuspects: byId("scope").value === "suspects",
    kind: chosen("kind"),
    label: chosen("label"),
    suggested: chosen("suggested"),
    verdict: chosen("decision"),
    sort: byId("sort").value,
  };
}

const ORDERS = {
  "score-down": null, // as the payload has them
  "score-up": (a, b) => b - a,
  "confidence-up": (a, b) => samples.confidence[a] - samples.confidence[b] || a - b,
  "confidence-down": (a, b) => samples.confidence[b] - samples.confidence[a] || a - b,
  label: (a, b) => samples.label[a] - samples.label[b] || a - b,
  suggested: (a, b) => samples.suggested[a] - samples.suggested[b] || a - b,
  place: (a, b) => samples.place[a] - samples.place[b],
};

/** The rows that pass, sorted. A sample that is decided now stays in the list until the filter changes. */
function filteredRows(filters) {
  const rows = [];
  for (let row = 0; row < count; row++) {
    if (filters.onlySuspects && !samples.suspected[row]) continue;
    if (filters.kind !== null && samples.kind[row] !== filters.kind) continue;
    if (filters.label !== null && samples.label[row] !== filters.label) continue;
    if (filters.suggested !== null && samples.suggested[row] !== filters.suggested) continue;
    if (filters.verdict !== null && decided.verdict[row] !== filters.verdict) continue;
    if (filters.words.length) {
      const words = (haystack[row] ??= searchText(row));
      if (!filters.words.every((word) => words.includes(word))) continue;
    }
    rows.push(row);
  }
  const found = Int32Array.from(rows);
  const order = ORDERS[filters.sort];
  return order ? found.sort(order) : found;
}

/** Read what a search will look through while the browser has nothing else to do. */
function prepareSearch(row, idle) {
  while (row < count && idle.timeRemaining() > 2) {
    haystack[row] ??= searchText(row);
    row += 1;
  }
  if (row < count) requestIdleCallback((next) => prepareSearch(row, next));
}

function refilter() {
  view.rows = filteredRows(chosenFilters());
  view.page = 0;
  view.current = 0;
  renderPage();
}

const numPages = () => Math.max(1, Math.ceil(view.rows.length / view.pageSize));
const pageRows = () => Array.from(view.rows.slice(view.page * view.pageSize, (view.page + 1) * view.pageSize));

function goToPage(page, current = 0, focus = false) {
  view.page = Math.min(Math.max(page, 0), numPages() - 1);
  view.current = current;
  renderPage();
  if (focus) focusCurrent();
}

function renderPage() {
  const rows = pageRows();
  view.current = Math.min(view.current, Math.max(rows.length - 1, 0));
  byId("list").replaceChildren(...rows.map(sampleItem));
  byId("list").start = view.page * view.pageSize + 1;
  markCurrent();
  const from = view.page * view.pageSize + 1;
  const of = byId("scope").value === "suspects" ? plural(numSuspects, "suspect") : plural(count, "sample");
  byId("count").textContent = rows.length
    ? `${number(from)} to ${number(from + rows.length - 1)} of ${number(view.rows.length)} shown, out of ${of}`
    : numSuspects || byId("scope").value === "all"
      ? "No sample passes these filters."
      : "Nothing was flagged. Show all samples to look at the largest scores.";
  byId("page").value = view.page + 1;
  byId("page").max = numPages();
  byId("pages").textContent = number(numPages());
  for (const id of ["first", "previous"]) byId(id).disabled = view.page === 0;
  for (const id of ["next", "last"]) byId(id).disabled = view.page >= numPages() - 1;
}

// -- one sample ------------------------------------------------------------------------------------------

function previewBox(row) {
  const item = previewOf(row);
  if (!item || item[0] !== "image") return null;
  return el("img", { class: "picture", src: item[1], alt: `picture of ${short(idText(row), 60)}`, decoding: "async" });
}

function contentOf(row) {
  const item = previewOf(row);
  if (!item) return null;
  if (item[0] === "text") {
    const rest = item[2] ? el("span", { class: "muted" }, ` (${plural(item[2], "more character")})`) : null;
    return el("p", { class: "sample-text" }, el("bdi", { dir: "auto" }, visible(item[1])), rest);
  }
  if (item[0] !== "row") return null;
  const names = report.previews.columns[item[1]];
  const pairs = names.map((name, place) =>
    el("div", null, el("dt", null, said(name, 40)), el("dd", null, said(item[2][place], 120))));
  const few = 8;
  const parts = [el("dl", { class: "cells" }, pairs.slice(0, few))];
  if (pairs.length > few || item[3]) {
    const rest = item[3] ? `, ${plural(item[3], "column")} left out` : "";
    parts.push(el("details", null,
      el("summary", null, `${plural(pairs.length - few, "more column")}${rest}`), el("dl", { class: "cells" }, pairs.slice(few))));
  }
  return parts;
}

function verdictButtons(row) {
  const button = (verdict, name, act) =>
    el("button", { type: "button", "data-verdict": verdict, "aria-pressed": "false", onclick: act }, name);
  return el(
    "div",
    { class: "verdict", role: "group", "aria-label": `Decision for ${short(idText(row), 60)}` },
    button(KEEP, "Keep", () => decideRows([row], () => [KEEP, -1], true)),
    button(DROP, "Drop", () => decideRows([row], () => [DROP, -1], true)),
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
    parts.push(el("span", { class: "muted" }, ", fits no class"));
  }
  return el("p", { class: "claim" }, parts);
}

function sampleItem(row) {
  const kind = KINDS[samples.kind[row]];
  const content = contentOf(row);
  const spark = sparkline(row);
  const item = el(
    "li",
    { class: "sample", "data-row": row, tabindex: "-1" },
    previewBox(row),
    el("div", { class: "what" },
      claim(row),
      el("p", { class: "which" }, el("span", { class: `chip ${kind}` }, kind), el("span", { class: "id" }, said(idText(row), 90))),
      content),
    el("div", { class: "how" },
      el("p", { class: "score" }, el("span", { class: "muted" }, "score "), el("b", null, samples.score[row].toFixed(3))),
      el("p", { class: "score muted" }, el("span", null, "confidence "), el("span", null, samples.confidence[row].toFixed(3))),
      spark),
    verdictButtons(row),
    el("p", { class: "outcome", "data-outcome": "" }),
  );
  markVerdict(item, row);
  return item;
}

/** Show on an item what is decided for its row. */
function markVerdict(item, row) {
  const verdict = decided.verdict[row];
  item.dataset.decided = VERDICTS[verdict];
  for (const button of item.querySelectorAll("[data-verdict]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.verdict) === verdict));
  }
  const outcome = item.querySelector("[data-outcome]");
  outcome.replaceChildren();
  if (verdict === RELABEL) outcome.append("will be ", said(report.classes[decided.label[row]], 60));
}

const itemOf = (row) => byId("list").querySelector(`[data-row="${row}"]`);

function markCurrent() {
  Array.from(byId("list").children).forEach((item, place) => {
    item.tabIndex = place === view.current ? 0 : -1;
    item.classList.toggle("current", place === view.current);
  });
}

function focusCurrent() {
  const item = byId("list").children[view.current];
  if (!item) return;
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

/** Show the suspects of one class, from the bars above. */
function showClass(place) {
  byId("filters").reset();
  byId("label").value = String(place);
  refilter();
  byId("suspects").scrollIntoView();
  byId("label").focus({ preventScroll: true });
}

function startList() {
  const option = (place) => el("option", { value: place }, className(place, 50));
  const classes = report.classes.map((_, place) => place);
  byId("label").append(...classes.map(option));
  byId("suggested").append(...classes.map(option));
  let waiting = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refilter, 120);
  });
  byId("filters").addEventListener("change", (event) => event.target.id !== "search" && refilter());
  byId("filters").addEventListener("submit", (event) => {
    event.preventDefault();
    refilter();
  });
  byId("reset").addEventListener("click", () => {
    byId("filters").reset();
    refilter();
  });
  byId("first").addEventListener("click", () => goToPage(0));
  byId("previous").addEventListener("click", () => goToPage(view.page - 1));
  byId("next").addEventListener("click", () => goToPage(view.page + 1));
  byId("last").addEventListener("click", () => goToPage(numPages() - 1));
  byId("page").addEventListener("change", () => goToPage(Number(byId("page").value || 1) - 1));
  byId("page-size").addEventListener("change", () => {
    const first = view.page * view.pageSize;
    view.pageSize = Number(byId("page-size").value);
    goToPage(Math.floor(first / view.pageSize));
  });
  byId("list").addEventListener("focusin", (event) => {
    const item = event.target.closest(".sample");
    view.current = Array.from(byId("list").children).indexOf(item);
    markCurrent();
  });
}
