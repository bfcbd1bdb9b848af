// The list: which rows pass the filters, in which order, and the one page of them that is in the document.

const view = { rows: new Int32Array(0), page: 0, pageSize: 25, current: 0, only: null, looks: "list" };
const haystack = new Array(count);

function chosenFilters() {
  const chosen = (id) => (byId(id).value === "" ? null : Number(byId(id).value));
  return {
    words: byId("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean),
    onlySuspects: byId("scope").value === "suspects",
    from: byId("scope").value === "score" ? chosenThreshold() : 0,
    level: chosen("level"),
    kind: chosen("kind"),
    label: chosen("label"),
    suggested: chosen("suggested"),
    verdict: chosen("decision"),
    column: byId("column").value,
    value: byId("value").value.trim(),
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
  index: (a, b) => samples.index[a] - samples.index[b],
};

/** Whether a cell of a row is a value, or where no cell is, contains it; or is below or above a number. */
function cellFilter(column, value) {
  const found = cells(column);
  const [, sign, limit] = value.match(/^([<>])\s*(-?[\d.]+(?:e[-+]?\d+)?)$/i) ?? [];
  if (sign) return (row) => found[row] !== null && found[row] !== "" && (sign === "<" ? Number(found[row]) < Number(limit) : Number(found[row]) > Number(limit));
  const wanted = value.toLowerCase();
  const lower = (row) => found[row]?.toLowerCase() ?? "";
  const known = found.some((_, row) => lower(row) === wanted);
  return (row) => (known ? lower(row) === wanted : lower(row).includes(wanted));
}

/** The most frequent values of the chosen column, to choose from. */
function offerValues() {
  const times = new Map();
  for (const cell of byId("column").value ? cells(byId("column").value) : []) if (cell) times.set(cell, (times.get(cell) ?? 0) + 1);
  const values = [...times].sort((a, b) => b[1] - a[1]).slice(0, 100);
  byId("values").replaceChildren(...values.map(([value]) => el("option", { value })));
  byId("value-filter").hidden = !byId("column").value;
}

/** The rows that pass, sorted. A sample that is decided now stays in the list until the filter changes. */
function filteredRows(filters) {
  const rows = [];
  const cell = filters.column && filters.value ? cellFilter(filters.column, filters.value) : null;
  for (let row = 0; row < count; row++) {
    if (view.only && !view.only.rows.has(row)) continue;
    if (filters.onlySuspects && !samples.suspected[row]) continue;
    if (samples.score[row] < filters.from) break; // rows are sorted by score
    if (filters.level !== null && samples.level[row] !== filters.level) continue;
    if (filters.kind !== null && samples.kind[row] !== filters.kind) continue;
    if (filters.label !== null && samples.label[row] !== filters.label) continue;
    if (filters.suggested !== null && samples.suggested[row] !== filters.suggested) continue;
    if (filters.verdict !== null && decided.verdict[row] !== filters.verdict) continue;
    if (cell && !cell(row)) continue;
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

/** List what passes these filters, by their ids, and no others; `only` as `showOnly` sets it. */
function showList(filters, only = null) {
  byId("filters").reset();
  view.only = only;
  for (const [id, value] of Object.entries(filters)) byId(id).value = value;
  offerValues();
  refilter();
  byId("list-top").scrollIntoView();
}

/** Show these rows alone, whatever they are, until the filters are reset or others are to be shown. */
function showOnly(rows, name) {
  showList({ scope: "only" }, { rows: new Set(rows), name });
  focusCurrent();
}

/** Show the suspects of one class, from the bars above. */
function showClass(k) {
  showList({ label: k });
  focusCurrent();
}

/** A link in a sentence, which breaks with its line as a button would not, to samples that `show` lists. */
function listLink(name, show) {
  return el("a", { href: "#list-top", onclick: (event) => { event.preventDefault(); show(); } }, name);
}

/** Read what a search will look through while the browser has nothing else to do. */
function prepareSearch(row, idle) {
  while (row < count && idle.timeRemaining() > 2) {
    haystack[row] ??= searchText(row);
    row += 1;
  }
  if (row < count) whenIdle((next) => prepareSearch(row, next));
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

/** Lay out and paint the samples outside the window only when there is time: a filter answers in a third. */
function drawWhatIsSeenFirst() {
  byId("list").classList.add("fresh");
  requestAnimationFrame(() => whenIdle(() => byId("list").classList.remove("fresh")));
}

function renderPage() {
  const rows = pageRows();
  view.current = Math.min(view.current, Math.max(rows.length - 1, 0));
  byId("list").classList.toggle("tiles-view", view.looks === "grid");
  drawWhatIsSeenFirst();
  byId("list").replaceChildren(...rows.map(view.looks === "grid" ? tileItem : sampleItem));
  byId("list").start = view.page * view.pageSize + 1;
  markCurrent();
  const from = view.page * view.pageSize + 1;
  const onlySuspects = byId("scope").value === "suspects";
  const of = onlySuspects ? plural(numSuspects, "suspect") : plural(count, "sample");
  byId("only").hidden = !view.only;
  byId("only").replaceChildren(...(view.only ? ["Only ", view.only.name, "."] : []));
  byId("count").textContent = rows.length
    ? `${number(from)} to ${number(from + rows.length - 1)} of ${number(view.rows.length)} shown, out of ${of}`
    : !onlySuspects
      ? "No sample passes these filters."
      : numSuspects
        ? "No suspect passes these filters. Show all samples to look through the others too."
        : "Nothing was flagged. Show all samples to look at the largest scores.";
  byId("pager").hidden = !rows.length;
  byId("page").value = view.page + 1;
  byId("page").max = numPages();
  byId("pages").textContent = number(numPages());
  for (const id of ["first", "previous"]) byId(id).disabled = view.page === 0;
  for (const id of ["next", "last"]) byId(id).disabled = view.page >= numPages() - 1;
}

// -- the current one -----------------------------------------------------------------------------------

const itemOf = (row) => byId("list").querySelector(`[data-row="${row}"]`);

function markCurrent() {
  Array.from(byId("list").children).forEach((item, at) => {
    item.tabIndex = at === view.current ? 0 : -1;
    item.classList.toggle("current", at === view.current);
  });
}

function focusCurrent() {
  const item = byId("list").children[view.current];
  if (!item) return;
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

function startList() {
  byId("tools").open = matchMedia("(min-width: 46.01rem)").matches; // on a phone they would fill the first screen
  const option = (k) => el("option", { value: k }, className(k, 50));
  const classes = report.classes.map((_, k) => k);
  byId("label").append(...classes.map(option));
  byId("suggested").append(...classes.map(option));
  byId("level-filter").hidden = !samples.level;
  byId("column-filter").hidden = !columnNames.length;
  byId("column").append(...columnNames.map((name) => el("option", { value: name }, short(name, 40))));
  let waiting = 0;
  for (const id of ["search", "value"]) byId(id).addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refilter, 120);
  });
  byId("filters").addEventListener("change", (event) => {
    if (event.target.id === "scope") view.only = null;
    if (event.target.id === "column") {
      byId("value").value = "";
      offerValues();
    }
    if (event.target.type !== "search") refilter();
  });
  byId("filters").addEventListener("submit", (event) => {
    event.preventDefault();
    refilter();
  });
  byId("reset").addEventListener("click", () => {
    byId("filters").reset();
    offerValues();
    view.only = null;
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
