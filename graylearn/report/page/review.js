// Reviewing: deciding with mouse and keyboard, for one sample or for many, and the file of decisions.

const CHOICES_AT_MOST = 200;

function say(message) {
  byId("message").textContent = message;
}

/** Bring what is shown of `rows` and of the whole up to date. */
function refreshDecisions(rows) {
  const shown = rows.length > view.pageSize ? pageRows() : rows;
  for (const row of shown) {
    const item = itemOf(row);
    if (item) markVerdict(item, row);
  }
  markLarge();
  const done = tally();
  markClasses(done.byClass);
  markPairs();
  markCopies();
  const other = done.all - done.suspects;
  byId("progress").textContent =
    (numSuspects ? `${number(done.suspects)} of ${plural(numSuspects, "suspect")} decided` : `${plural(done.all, "sample")} decided`) +
    (numSuspects && other ? `, and ${plural(other, "other sample")}` : "") +
    (done.all ? `: ${number(done.keep)} keep, ${number(done.drop)} drop, ${number(done.relabel)} relabel` : "");
  byId("progress-bar").max = Math.max(numSuspects, 1);
  byId("progress-bar").value = done.suspects;
  byId("undo").disabled = !undoSteps.length;
  byId("download").disabled = !done.all;
  const unsafe = !storage.works && done.all;
  byId("message").classList.toggle("warning", Boolean(unsafe));
  if (unsafe) say("This browser does not let the page keep decisions: download them before you leave.");
}

/** Decide and show it. With `toggles`, deciding the same again takes the decision back. */
function decideRows(rows, choose, toggles = false) {
  const again = toggles && rows.every((row) => decided.verdict[row] === choose(row)[0] && decided.label[row] === choose(row)[1]);
  const changed = decide(rows, again ? () => [0, -1] : choose);
  say("");
  refreshDecisions(changed);
  return changed;
}

function undoLast() {
  const rows = undo();
  say(rows.length ? `Undone: ${plural(rows.length, "decision")}.` : "Nothing to undo.");
  refreshDecisions(rows);
}

/** Decide for those of the rows that nothing is decided for yet; ask first where a class would be wiped out. */
function decideUndecided(rows, choose) {
  takeFromStorage();
  const open = rows.filter((row) => !decided.verdict[row]);
  const spared = rows.length - open.length;
  unlessDangerous(open, choose, () => {
    const changed = decideRows(open, choose);
    if (changed.length > view.pageSize) renderPage();
    const rest = spared ? ` ${plural(spared, "sample")} decided before ${spared === 1 ? "stays" : "stay"} as ${spared === 1 ? "it is" : "they are"}.` : "";
    const left = view.rows.reduce((sum, row) => sum + !decided.verdict[row], 0);
    const more = left ? ` ${number(left)} more in this list ${left === 1 ? "is" : "are"} undecided.` : "";
    say(`${plural(changed.length, "decision")} made.${rest}${more}${changed.length ? " Undo takes them all back." : ""}`);
    if (!storage.works) refreshDecisions([]);
  });
}

function decideMany(action) {
  const rows = byId("bulk-scope").value === "page" ? pageRows() : Array.from(view.rows);
  if (action === "clear") {
    const changed = decideRows(rows, () => [0, -1]);
    say(`${plural(changed.length, "decision")} taken back.${changed.length ? " Undo brings them back." : ""}`);
    return;
  }
  if (action === "accept") {
    // what another sample looks most like is too weak to be taken unseen
    const suspects = rows.filter((row) => samples.suspected[row]);
    if (suspects.length) decideUndecided(suspects, suggestion);
    else say("Nothing is flagged here, so nothing is accepted for all at once: look, and decide one by one.");
    return;
  }
  decideUndecided(rows, { keep: () => [KEEP, -1], drop: () => [DROP, -1] }[action]);
}

// -- choosing a label ------------------------------------------------------------------------------------

let relabelling = -1;

function listChoices() {
  const wanted = byId("relabel-search").value.trim().toLowerCase();
  const classes = report.classes.map((_, k) => k);
  const likely = [decided.label[relabelling], offered(relabelling), ...likelyClasses(relabelling).map(([k]) => k)];
  const first = likely.find((k) => k >= 0 && k !== samples.label[relabelling]);
  const found = classes.filter((k) => report.classes[k].toLowerCase().includes(wanted) && k !== samples.label[relabelling]);
  found.sort((a, b) => (b === first) - (a === first) || a - b);
  const shown = found.slice(0, CHOICES_AT_MOST);
  byId("relabel-list").replaceChildren(...shown.map((k) => el("option", { value: k }, className(k, 60))));
  if (shown.length) byId("relabel-list").selectedIndex = 0;
  byId("relabel-ok").disabled = !shown.length;
  byId("relabel-more").textContent = found.length > shown.length ? `${number(found.length - shown.length)} more: type to find them.` : "";
}

function askLabel(row) {
  relabelling = row;
  byId("relabel-which").replaceChildren(said(idName(row), 80), ", labelled ", said(report.classes[samples.label[row]], 60));
  byId("relabel-search").value = "";
  listChoices();
  byId("relabel-dialog").showModal();
  byId("relabel-list").focus();
}

function takeLabel() {
  const k = Number(byId("relabel-list").value);
  if (relabelling < 0 || byId("relabel-list").selectedIndex < 0) return;
  decideRows([relabelling], () => [RELABEL, k]);
  byId("relabel-dialog").close();
}

function startRelabel() {
  const dialog = byId("relabel-dialog");
  byId("relabel-search").addEventListener("input", listChoices);
  byId("relabel-search").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    byId("relabel-list").focus();
  });
  byId("relabel-list").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    takeLabel();
  });
  byId("relabel-list").addEventListener("dblclick", takeLabel);
  byId("relabel-cancel").addEventListener("click", () => dialog.close());
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    takeLabel();
  });
}

// -- keyboard --------------------------------------------------------------------------------------------

function move(step) {
  const last = byId("list").children.length - 1;
  const target = view.current + step;
  if (target >= 0 && target <= last) {
    view.current = target;
    markCurrent();
    focusCurrent();
  } else if (target > last && view.page < numPages() - 1) {
    goToPage(view.page + 1, 0, true);
  } else if (target < 0 && view.page > 0) {
    goToPage(view.page - 1, view.pageSize - 1, true);
  } else {
    focusCurrent();
  }
}

function decideCurrent(choose) {
  const row = pageRows()[view.current];
  if (row === undefined) return;
  decideRows([row], choose);
  move(1);
}

const ACTIONS = {
  n: () => move(document.activeElement.closest?.(".sample") ? 1 : 0),
  p: () => move(-1),
  k: () => decideCurrent(() => [KEEP, -1]),
  d: () => decideCurrent(() => [DROP, -1]),
  a: () => {
    const row = pageRows()[view.current];
    if (row === undefined || accepted(row)) decideCurrent(accepted);
    else say("No other class is likelier than its label: look, and decide yourself.");
  },
  r: () => {
    const row = pageRows()[view.current];
    if (row !== undefined) askLabel(row);
  },
  e: () => enlarge(pageRows()[view.current]),
  c: () => byId("compare-choice").hidden || setCompare(!byId("compare").checked),
  g: () => {
    if (byId("looks").hidden) return;
    setLooks(view.looks === "grid" ? "list" : "grid");
    renderPage();
    focusCurrent();
  },
  u: undoLast,
  "/": () => {
    byId("tools").open = true;
    byId("search").focus();
  },
};
/** Tiles beside each other in the grid. */
function tilesAcross() {
  const tiles = Array.from(byId("list").children);
  const across = tiles.findIndex((tile) => tile.offsetTop > tiles[0].offsetTop);
  return across < 0 ? Math.max(tiles.length, 1) : across;
}

const IN_LIST = {
  ArrowDown: () => move(view.looks === "grid" ? tilesAcross() : 1),
  ArrowUp: () => move(view.looks === "grid" ? -tilesAcross() : -1),
  ArrowRight: () => (view.looks === "grid" ? move(1) : view.page < numPages() - 1 && goToPage(view.page + 1, 0, true)),
  ArrowLeft: () => (view.looks === "grid" ? move(-1) : view.page > 0 && goToPage(view.page - 1, 0, true)),
};

function onKey(event) {
  if (document.querySelector("dialog[open]")) return;
  const field = event.target.closest?.("input:not([type=checkbox]), select, textarea");
  if (field) return;
  const undoing = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !event.shiftKey;
  if ((event.ctrlKey || event.metaKey || event.altKey) && !undoing) return;
  let act = undoing ? undoLast : event.target.closest?.(".sample") ? IN_LIST[event.key] : undefined;
  if (!act && event.key === "?") act = () => byId("help-dialog").showModal();
  if (!act && byId("letters").checked) act = ACTIONS[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
}

// -- files -----------------------------------------------------------------------------------------------

function download() {
  const address = URL.createObjectURL(csvBlob(decisionsCsv()));
  const anchor = el("a", { href: address, download: "decisions.csv" });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  say(`${plural(tally().all, "decision")} written to decisions.csv.`);
  showCommand();
}

async function load(file) {
  let message;
  let taken = [];
  try {
    const content = new TextDecoder("utf-8").decode(await file.arrayBuffer());
    ({ taken, message } = loadCsv(content));
  } catch {
    message = "The file cannot be read.";
  }
  refreshDecisions(taken);
  renderPage();
  say(message);
}

function startReview() {
  startRelabel();
  byId("undo").addEventListener("click", undoLast);
  byId("download").addEventListener("click", download);
  byId("load").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    if (file) await load(file);
    event.target.value = "";
  });
  for (const button of document.querySelectorAll("[data-bulk]")) {
    button.addEventListener("click", () => decideMany(button.dataset.bulk));
  }
  byId("ask-cancel").addEventListener("click", () => byId("ask-dialog").close());
  window.addEventListener("storage", (event) => {
    if (event.key !== storageKey || !takeFromStorage()) return;
    renderPage();
    refreshDecisions([]);
    say("Decisions of another tab were taken over.");
  });
  byId("help").addEventListener("click", () => byId("help-dialog").showModal());
  document.addEventListener("keydown", onKey);
}
