// The confusion matrix as a heat map: one path a shade, so that a thousand classes are still a few elements.

const SHADES = 8;
const NUMBERS_UP_TO = 12;
const NAMES_UP_TO = 30;

/** Cells that are not empty: [given, predicted, count]; and the sum of each row. */
function confusionCells() {
  const cells = [];
  const given = new Array(report.classes.length).fill(0);
  for (let at = 0; at < report.confusion.length; at += 3) {
    const cell = report.confusion.slice(at, at + 3);
    cells.push(cell);
    given[cell[0]] += cell[2];
  }
  return { cells, given };
}

function drawConfusion(width) {
  const { cells, given } = confusionCells();
  const size = report.classes.length;
  const named = size <= NAMES_UP_TO;
  const left = named ? Math.min(110, width * 0.24) : 22;
  const side = Math.min(width - left - (named ? 26 : 4), 620);
  const top = named ? 64 : 20;
  const cell = side / size;
  const share = ([row, , n]) => n / given[row];
  // A tenth of a class gone astray is full colour, so that single mistakes do not shout.
  const worst = Math.max(0.1, ...cells.filter(([row, column]) => row !== column).map(share));
  const paths = { right: new Array(SHADES + 1).fill(""), wrong: new Array(SHADES + 1).fill("") };
  const gap = cell > 6 ? 1 : 0;
  const numbers = [];
  for (const entry of cells) {
    const [row, column, n] = entry;
    const right = row === column;
    const shade = Math.max(1, Math.ceil(SHADES * (right ? share(entry) : share(entry) / worst)));
    const [x, y] = [left + column * cell, top + row * cell];
    const wide = (cell - gap).toFixed(2);
    paths[right ? "right" : "wrong"][Math.min(shade, SHADES)] += `M${x.toFixed(2)} ${y.toFixed(2)}h${wide}v${wide}h-${wide}z`;
    if (size <= NUMBERS_UP_TO && cell > 22) {
      numbers.push(text(x + cell / 2, y + cell / 2 + 4, number(n), shade > SHADES / 2 ? "on-dark tick" : "on-light tick"));
    }
  }
  const parts = [svg("rect", { x: left, y: top, width: side, height: side, class: "matrix-ground" })];
  for (const [look, list] of Object.entries(paths)) {
    list.forEach((d, shade) => d && parts.push(svg("path", { d, class: `${look} shade-${shade}` })));
  }
  parts.push(...numbers);
  if (named) {
    const every = Math.ceil(14 / cell);
    report.classes.forEach((name, k) => {
      if (k % every) return;
      const middle = k * cell + cell / 2;
      const shown = short(name, Math.max(3, Math.floor(left / 7.5)));
      parts.push(text(left - 6, top + middle + 4, shown, "tick", "end"));
      const turned = text(0, 0, short(name, 9), "tick", "start");
      turned.setAttribute("transform", `translate(${left + middle + 4} ${top - 6}) rotate(-50)`);
      parts.push(turned);
    });
  } else {
    parts.push(text(left + side / 2, 13, "predicted", "axis-name"), text(12, top + side / 2, "given label", "axis-name turned"));
  }
  const readout = el("p", { class: "readout muted", "aria-hidden": "true" }, "Point at a cell to read it.");
  const drawn = picture(width, top + side + 4, `Confusion matrix of ${plural(size, "class", "classes")}; the largest confusions are listed below`, ...parts);
  const counts = new Map(cells.map(([row, column, n]) => [row * size + column, n]));
  drawn.addEventListener("pointermove", (event) => {
    const box = drawn.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left) / cell);
    const row = Math.floor((event.clientY - box.top - top) / cell);
    if (row < 0 || column < 0 || row >= size || column >= size) return;
    const n = counts.get(row * size + column) ?? 0;
    const of = given[row] ? ` (${percent(n / given[row])})` : "";
    readout.replaceChildren("given ", said(report.classes[row], 40), ", predicted ", said(report.classes[column], 40), `: ${number(n)}${of}`);
  });
  return [drawn, readout];
}

/** The largest confusions in words: what a heat map says to those who cannot see it. */
function largestConfusions(limit = 6) {
  const { cells, given } = confusionCells();
  const wrong = cells.filter(([row, column]) => row !== column);
  wrong.sort((a, b) => b[2] - a[2] || a[0] - b[0] || a[1] - b[1]);
  if (!wrong.length) return el("p", { class: "muted" }, "No sample was confused with another class.");
  return el(
    "table",
    { class: "pairs" },
    el("caption", null, "Largest confusions"),
    el("thead", null, el("tr", null, el("th", { scope: "col" }, "given"), el("th", { scope: "col" }, "predicted"),
      el("th", { scope: "col", class: "numbers" }, "samples"), el("th", { scope: "col", class: "numbers" }, "of the class"))),
    el("tbody", null, wrong.slice(0, limit).map(([row, column, n]) =>
      el("tr", null, el("td", null, said(report.classes[row], 30)), el("td", null, said(report.classes[column], 30)),
        el("td", { class: "numbers" }, number(n)), el("td", { class: "numbers" }, percent(n / given[row]))))),
  );
}

function drawFigures() {
  figure("Scores", "Each kind on its own scale. Larger scores are less likely to belong.", [drawHistogram]);
  if (report.accuracies) {
    figure("Accuracy on the test set", "Bars are the spread over repetitions, where there were any. The axis does not begin at zero.", [drawAccuracies]);
  }
  if (report.reliability) {
    const gap = percent(report.reliability.ece);
    figure("Calibration", `Expected calibration error ${gap}: how far confidence and accuracy lie apart on average. On the diagonal they agree.`, [drawReliability]);
  }
  trainingFigure();
  if (report.confusion) {
    const caption = "Rows are the given labels, columns what the model predicts. Agreement is gray, confusion is coloured by its share of the row.";
    const box = figure("Confusion", caption, [drawConfusion]);
    const beside = el("div", { class: "beside" });
    box.querySelector(".stage").replaceWith(beside);
    beside.append(drawings.at(-1).stage, largestConfusions());
    box.classList.add("wide-figure");
  }
  redraw();
  new ResizeObserver(redraw).observe(byId("figures"));
}
