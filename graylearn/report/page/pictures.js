// Pictures: one of them large, or many at once as a grid.

const LIST_SIZES = [10, 25, 50, 100];
const GRID_SIZES = [60, 120, 240, 480];

/** One picture as large as the window allows, with what is said of it. */
function enlarge(row) {
  const item = previewOf(row);
  if (!item || item[0] !== "image") return;
  byId("picture-stage").replaceChildren(pictureOf(item, { alt: `picture of ${short(idName(row), 60)}` }));
  byId("picture-words").replaceChildren(claim(row), ...[whyWords(row)].filter(Boolean), el("p", { class: "muted" }, said(idName(row), 200)));
  byId("picture-dialog").showModal();
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
