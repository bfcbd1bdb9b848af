// Pictures: one of them large, or many at once as a grid.

const LIST_SIZES = [10, 25, 50, 100];
const GRID_SIZES = [60, 120, 240, 480];

/** One picture as large as the window allows, with what is said of it. */
function enlarge(row) {
  const item = previewOf(row);
  if (!item || item[0] !== "image") return;
  byId("picture-stage").replaceChildren(pictureOf(item, { alt: `picture of ${short(idName(row), 60)}` }));
  byId("picture-words").replaceChildren(claim(row), ...[whyWords(row)].filter(Boolean), el("p", { class: "muted" }, said(idName(row), 200)),
    verdictButtons(row), el("p", { class: "outcome", "data-outcome": "" }));
  large = row;
  markLarge();
  byId("picture-previous").disabled = largeBeside(-1) < 0;
  byId("picture-next").disabled = largeBeside(1) < 0;
  if (!byId("picture-dialog").open) byId("picture-dialog").showModal();
}

let large = -1;

/** The next row of the list, or the one before, that has a picture; -1 where there is none. */
function largeBeside(step) {
  let at = view.rows.indexOf(large);
  if (at < 0) return -1;
  do at += step; while (at >= 0 && at < view.rows.length && previewOf(view.rows[at])?.[0] !== "image");
  return view.rows[at] ?? -1;
}

/** Go on to it; what was decided last in the large picture is where the list stands after it is closed. */
function enlargeBeside(step) {
  const row = largeBeside(step);
  if (row < 0) return;
  enlarge(row);
  const at = view.rows.indexOf(row);
  const page = Math.floor(at / view.pageSize);
  if (page !== view.page) goToPage(page);
  view.current = at % view.pageSize;
  markCurrent();
}

function markLarge() {
  if (large >= 0) markVerdict(byId("picture-words"), large);
}

/** Keys in the large picture: as in the list. */
function onLargeKey(event) {
  const choose = { k: () => [KEEP, -1], d: () => [DROP, -1], a: accepted }[event.key.toLowerCase()];
  const step = { n: 1, p: -1, ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (step) enlargeBeside(step);
  else if (!byId("letters").checked) return;
  else if (event.key.toLowerCase() === "r") askLabel(large);
  else if (event.key.toLowerCase() === "u") undoLast();
  else if (choose?.(large)) {
    decideRows([large], choose);
    enlargeBeside(1);
  } else return;
  event.preventDefault();
}

function setLooks(looks) {
  const first = view.page * view.pageSize + view.current;
  view.looks = looks;
  for (const button of document.querySelectorAll("[data-looks]")) {
    button.setAttribute("aria-pressed", String(button.dataset.looks === looks));
  }
  const sizes = looks === "grid" ? GRID_SIZES : LIST_SIZES;
  byId("page-size").replaceChildren(...sizes.map((size) => el("option", null, String(size))));
  view.pageSize = sizes[1];
  byId("page-size").value = String(view.pageSize);
  view.page = Math.min(Math.floor(first / view.pageSize), numPages() - 1);
  view.current = first % view.pageSize;
  offerCompare();
}

/** The choice to compare, where there is something to compare with and room for it, which tiles have not. */
function offerCompare() {
  byId("compare-choice").hidden = view.looks === "grid" || (!beside.nearest && !report.curves);
}

function setCompare(shown) {
  byId("list").classList.toggle("compact", !shown);
  byId("compare").checked = shown;
  storage.set("graylearn:compare", shown ? "yes" : "no");
}

function startPictures() {
  byId("looks").hidden = !report.previews.pictures;
  for (const line of document.querySelectorAll("[data-pictures]")) line.hidden = !report.previews.pictures;
  byId("picture-previous").addEventListener("click", () => enlargeBeside(-1));
  byId("picture-next").addEventListener("click", () => enlargeBeside(1));
  byId("picture-dialog").addEventListener("keydown", onLargeKey);
  for (const button of document.querySelectorAll("[data-looks]")) {
    button.addEventListener("click", () => {
      setLooks(button.dataset.looks);
      renderPage();
    });
  }
  offerCompare();
  setCompare(storage.get("graylearn:compare") !== "no");
  byId("compare").addEventListener("change", () => setCompare(byId("compare").checked));
  byId("picture-dialog").addEventListener("click", (event) => {
    if (event.target === byId("picture-dialog") || event.target.closest("img")) byId("picture-dialog").close();
  });
}
