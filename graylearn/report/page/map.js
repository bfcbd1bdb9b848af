// The map: samples in two dimensions, coloured by verdict; a line drawn around some filters the list.

const mapState = { box: null, lasso: [], chosen: null, drawing: false };
const MAP_EDGE = 14;
const CLASSES_NAMED = 30;
const MAP_HINT = "Draw a line around some samples to list them.";

function mapColours() {
  const style = getComputedStyle(document.documentElement);
  const probe = el("span");
  byId("map-card").append(probe);
  const read = (name) => {
    probe.style.color = style.getPropertyValue(name).trim();
    return getComputedStyle(probe).color;
  };
  const found = { kinds: ["--ok", "--mislabelled", "--ood"].map(read), accent: read("--accent"), ink: read("--ink"), ground: read("--ground") };
  probe.remove();
  return found;
}

/** Where a point of the map lies on the canvas, in pixels of the page. */
function mapPoint(at) {
  const { width, height } = mapState.box;
  const scale = report.map.extent;
  return [
    MAP_EDGE + (report.map.x[at] / scale) * (width - 2 * MAP_EDGE),
    MAP_EDGE + (1 - report.map.y[at] / scale) * (height - 2 * MAP_EDGE),
  ];
}

/** The name of each class in the middle of its samples that are ok. */
function nameClasses(pen, colours) {
  if (report.classes.length > CLASSES_NAMED) return;
  const members = report.classes.map(() => [[], []]);
  report.map.index.forEach((index, at) => {
    const row = rowOfIndex[index];
    if (row < 0 || samples.kind[row]) return;
    mapPoint(at).forEach((value, axis) => members[samples.label[row]][axis].push(value));
  });
  pen.font = "600 14px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.lineWidth = 4;
  pen.strokeStyle = colours.ground;
  pen.fillStyle = colours.ink;
  members.forEach((axes, k) => {
    if (!axes[0].length) return;
    const [x, y] = axes.map((values) => values.sort((a, b) => a - b)[values.length >> 1]);
    pen.strokeText(className(k, 16), x, y);
    pen.fillText(className(k, 16), x, y);
  });
}

function drawMap() {
  const canvas = byId("map");
  const width = canvas.parentElement.clientWidth;
  if (!width) return;
  const height = Math.round(Math.min(width * 0.62, 460));
  const fine = window.devicePixelRatio || 1;
  mapState.box = { width, height };
  canvas.width = width * fine;
  canvas.height = height * fine;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(fine, fine);
  const colours = mapColours();
  report.map.index.forEach((index, at) => {
    const row = rowOfIndex[index];
    if (row < 0) return;
    const kind = samples.kind[row];
    const [x, y] = mapPoint(at);
    pen.globalAlpha = mapState.chosen && !mapState.chosen.has(row) ? 0.15 : kind ? 0.95 : 0.55;
    pen.fillStyle = colours.kinds[kind];
    pen.beginPath();
    if (kind === 1) pen.rect(x - 3, y - 3, 6, 6);
    else pen.arc(x, y, kind ? 3.4 : 2.4, 0, 2 * Math.PI);
    pen.fill();
  });
  pen.globalAlpha = 1;
  nameClasses(pen, colours);
  if (mapState.lasso.length > 1) {
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    mapState.lasso.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.stroke();
  }
}

/** Whether a point lies inside the closed line. */
function inside([x, y], line) {
  let within = false;
  for (let at = 0, before = line.length - 1; at < line.length; before = at++) {
    const [ax, ay] = line[at];
    const [bx, by] = line[before];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}

function endLasso() {
  const rows = [];
  if (mapState.lasso.length > 2) {
    report.map.index.forEach((index, at) => {
      if (rowOfIndex[index] >= 0 && inside(mapPoint(at), mapState.lasso)) rows.push(rowOfIndex[index]);
    });
  }
  mapState.chosen = rows.length ? new Set(rows) : null;
  if (!rows.length) mapState.lasso = [];
  const suspects = rows.filter((row) => samples.suspected[row]);
  byId("map-words").textContent = rows.length
    ? `${plural(rows.length, "sample")} inside the line, ${number(suspects.length)} of them suspected.`
    : MAP_HINT;
  byId("map-suspects").hidden = !suspects.length;
  byId("map-all").hidden = !rows.length;
  byId("map-suspects").onclick = () => showOnly(suspects, "suspects inside the line on the map");
  byId("map-all").onclick = () => showOnly(rows, "samples inside the line on the map");
  drawMap();
}

function startMap() {
  byId("map-card").hidden = !report.map;
  if (!report.map) return;
  const canvas = byId("map");
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    Object.assign(mapState, { drawing: true, lasso: [at(event)], chosen: null });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!mapState.drawing) return;
    mapState.lasso.push(at(event));
    drawMap();
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, () => {
      if (!mapState.drawing) return;
      mapState.drawing = false;
      endLasso();
    });
  }
  byId("map-legend").append(...kindLegend());
  byId("map-words").textContent = MAP_HINT;
  drawMap();
  new ResizeObserver(() => canvas.parentElement.clientWidth !== mapState.box?.width && redrawMap()).observe(canvas.parentElement);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
}

/** Another width moves every point: a line around some of them means nothing any more. */
function redrawMap() {
  Object.assign(mapState, { lasso: [], chosen: null });
  endLasso();
}

// -- another threshold -----------------------------------------------------------------------------------

const chosenThreshold = () => Number(byId("threshold").value) / 1000;

/** How many rows have at least this score; rows are sorted by score. */
function rowsFrom(score) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (samples.score[middle] >= score) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sayThreshold() {
  const score = chosenThreshold();
  const flagged = rowsFrom(score);
  let suspects = 0;
  for (let row = 0; row < flagged; row++) suspects += samples.suspected[row];
  byId("threshold-words").textContent =
    `${score.toFixed(3)}: ${plural(flagged, "sample")}, ${number(suspects)} of them suspects now` +
    `${numSuspects > suspects ? `; ${plural(numSuspects - suspects, "suspect")} would be left out` : ""}.`;
}

function startThreshold() {
  const lowest = samples.score[Math.max(numSuspects - 1, 0)] ?? 0.5;
  byId("threshold").value = String(Math.floor(1000 * (report.threshold ?? lowest)));
  byId("threshold").defaultValue = byId("threshold").value;
  byId("threshold").addEventListener("input", sayThreshold);
  byId("threshold-show").addEventListener("click", () => showList({ scope: "score" }));
  sayThreshold();
}
