// Charts in plain SVG: drawn at the width there is, so that text keeps its size on a phone, and again on resize.

const drawings = [];

/** A figure with a heading, what each `draw(width)` gives, and a caption; drawn anew when its width changes. */
function figure(title, caption, draws) {
  const stages = draws.map((draw) => {
    const stage = el("div", { class: "stage" });
    drawings.push({ stage, draw, width: 0 });
    return stage;
  });
  const box = el("figure", { class: "card" }, el("h3", null, title), stages, el("figcaption", { class: "muted" }, caption));
  byId("figures").append(box);
  return box;
}

function redraw() {
  for (const drawing of drawings) {
    const width = Math.floor(drawing.stage.clientWidth);
    if (!width || width === drawing.width) continue;
    drawing.width = width;
    drawing.stage.replaceChildren(...[drawing.draw(width)].flat());
  }
}

const scaleTo = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

/** Round numbers from low to high, about `wanted` of them. */
function ticks(low, high, wanted = 4) {
  const span = high - low || 1;
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough - 1e-12);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9 * span; at++) found.push(at * step);
  return found;
}

const trimmed = (value) => String(Number(value.toPrecision(3)));
const picture = (width, height, words, ...parts) =>
  svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, ...parts);
const line = (x1, y1, x2, y2, look) => svg("line", { x1, y1, x2, y2, class: look });
const text = (x, y, words, look, anchor = "middle") => svg("text", { x, y, class: look, "text-anchor": anchor }, words);

/** An axis of x under the plot, and one of y at its left with faint lines across. */
function axes(plot, x, y, options) {
  const parts = [];
  for (const at of options.yTicks) {
    parts.push(line(plot.left, y(at), plot.right, y(at), "grid"));
    parts.push(text(plot.left - 8, y(at) + 4, options.yText(at), "tick", "end"));
  }
  for (const at of options.xTicks) parts.push(text(x(at), plot.bottom + 18, options.xText(at), "tick"));
  parts.push(line(plot.left, plot.bottom, plot.right, plot.bottom, "axis"));
  if (options.xName) parts.push(text((plot.left + plot.right) / 2, plot.bottom + 38, options.xName, "axis-name"));
  return parts;
}

// -- scores ----------------------------------------------------------------------------------------------

/** One small histogram a kind, each on its own scale: rare kinds stay readable beside a hundred times more ok. */
function drawHistogram(width) {
  const rows = report.histogram;
  const rowHeight = 78;
  const plot = { left: 8, right: width - 8, top: 26, bottom: 26 + rows.length * rowHeight };
  const x = scaleTo(0, 1, plot.left, plot.right);
  const bins = rows[0].length;
  const parts = [];
  const names = []; // drawn last, over the line of the threshold
  rows.forEach((counts, kind) => {
    const base = plot.top + (kind + 1) * rowHeight - 6;
    const most = Math.max(1, ...counts);
    const path = counts
      .map((value, bin) => {
        if (!value) return "";
        const height = Math.max(1.5, (value / most) * (rowHeight - 30));
        const left = x(bin / bins) + 0.5;
        return `M${left} ${base}v${-height}h${Math.max(1, x((bin + 1) / bins) - left - 0.5)}v${height}z`;
      })
      .join("");
    const all = counts.reduce((sum, value) => sum + value, 0);
    parts.push(svg("path", { d: path, class: `fill-${KINDS[kind]}` }), line(plot.left, base, plot.right, base, "axis"));
    const amount = all ? `${number(all)}, at most ${number(most)} a bar` : "none";
    const name = text(plot.left, base - rowHeight + 24, KIND_NAMES[kind], "row-name", "start");
    name.append(svg("tspan", { class: "tick", dx: 10 }, amount));
    names.push(name);
  });
  for (const at of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(text(x(at), plot.bottom + 16, trimmed(at), "tick", at === 0 ? "start" : at === 1 ? "end" : "middle"));
  }
  parts.push(text((plot.left + plot.right) / 2, plot.bottom + 36, "score", "axis-name"));
  if (report.threshold !== null) {
    const at = x(report.threshold);
    const side = report.threshold > 0.6 ? "end" : "start";
    parts.push(line(at, plot.top - 8, at, plot.bottom, "threshold"));
    parts.push(text(at + (side === "end" ? -6 : 6), plot.top - 10, `flagged from ${report.threshold.toFixed(2)}`, "threshold-name", side));
  }
  return picture(width, plot.bottom + 42, "Histograms of scores, one for each kind of sample", ...parts, ...names);
}

// -- calibration -----------------------------------------------------------------------------------------

function drawReliability(width) {
  const found = report.reliability;
  const plot = { left: 60, right: width - 8, top: 10, bottom: 10 + Math.min(0.7 * (width - 56), 300) };
  const most = Math.max(1, ...found.count);
  const strip = { top: plot.bottom + 52, bottom: plot.bottom + 92 };
  const x = scaleTo(0, 1, plot.left, plot.right);
  const y = scaleTo(0, 1, plot.bottom, plot.top);
  const parts = axes(plot, x, y, {
    xTicks: [0, 0.25, 0.5, 0.75, 1], yTicks: [0, 0.25, 0.5, 0.75, 1], xText: trimmed, yText: trimmed, xName: "confidence",
  });
  found.count.forEach((samplesIn, bin) => {
    if (!samplesIn) return;
    const left = x(found.edges[bin]) + 0.5;
    const wide = x(found.edges[bin + 1]) - left - 0.5;
    const [low, high] = [found.accuracy[bin], found.confidence[bin]].sort((a, b) => a - b);
    const words = `confidence ${found.confidence[bin].toFixed(2)}, accuracy ${found.accuracy[bin].toFixed(2)}, ${plural(samplesIn, "sample")}`;
    parts.push(
      svg("g", null, svg("title", null, words),
        svg("rect", { x: left, y: y(found.accuracy[bin]), width: wide, height: plot.bottom - y(found.accuracy[bin]), class: "accent-soft" }),
        svg("rect", { x: left, y: y(high), width: wide, height: Math.max(0, y(low) - y(high)), class: "gap" }),
        svg("rect", { x: left, y: strip.bottom - Math.max(1, (samplesIn / most) * 40), width: wide, height: Math.max(1, (samplesIn / most) * 40), class: "fill-ok" })),
    );
  });
  parts.push(line(x(0), y(0), x(1), y(1), "diagonal"));
  parts.push(text(14, (plot.top + plot.bottom) / 2, "accuracy", "axis-name turned"));
  parts.push(line(plot.left, strip.bottom, plot.right, strip.bottom, "axis"), text(plot.left - 8, strip.bottom - 14, "samples", "tick", "end"));
  return picture(width, strip.bottom + 6, `Reliability diagram: accuracy against confidence, calibration error ${percent(found.ece)}`, ...parts);
}

// -- accuracy --------------------------------------------------------------------------------------------

function drawAccuracies(width) {
  const rows = report.accuracies;
  const rowHeight = 44;
  const plot = { left: 12, right: width - 12, top: 4, bottom: 4 + rows.length * rowHeight };
  const ends = rows.flatMap(([, mean, spread]) => [mean - (spread ?? 0), mean + (spread ?? 0)]);
  const margin = Math.max(0.01, 0.08 * (Math.max(...ends) - Math.min(...ends)));
  const low = Math.max(0, Math.min(...ends) - margin);
  const high = Math.min(1, Math.max(...ends) + margin);
  const x = scaleTo(low, high, plot.left, plot.right);
  const parts = [];
  for (const at of ticks(low, high, width < 420 ? 3 : 5)) {
    parts.push(line(x(at), plot.top, x(at), plot.bottom, "grid"), text(x(at), plot.bottom + 18, trimmed(100 * at), "tick"));
  }
  rows.forEach(([name, mean, spread], row) => {
    const base = plot.top + row * rowHeight + 32;
    const value = `${(100 * mean).toFixed(1)}${spread === null ? "" : ` ± ${(100 * spread).toFixed(1)}`}`;
    parts.push(text(plot.left, base - 16, short(name, 40), "row-name", "start"), text(plot.right, base - 16, value, "value", "end"));
    parts.push(line(plot.left, base, plot.right, base, "grid"));
    if (spread !== null) parts.push(line(x(Math.max(low, mean - spread)), base, x(Math.min(high, mean + spread)), base, "spread"));
    parts.push(svg("circle", { cx: x(mean), cy: base, r: 6, class: "accent" }));
  });
  parts.push(text((plot.left + plot.right) / 2, plot.bottom + 38, "test accuracy, %", "axis-name"));
  const words = rows.map(([name, mean]) => `${short(name, 40)} ${percent(mean)}`).join(", ");
  return picture(width, plot.bottom + 44, `Test accuracy: ${words}`, ...parts);
}

// -- training --------------------------------------------------------------------------------------------

const LOOKS = ["line-a", "line-b", "line-c", "line-d"];

/** Lines over the epochs; gaps where a row of the log has no number. */
function linesOver(width, epochs, series, percentages) {
  const plot = { left: 48, right: width - 10, top: 12, bottom: 150 };
  const values = series.flatMap(([, column]) => column.filter((value) => value !== null));
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (high - low < 1e-9) [low, high] = [low - 0.5, high + 0.5];
  if (!percentages && low > 0 && low < 0.4 * high) low = 0;
  const x = scaleTo(epochs[0], epochs.at(-1), plot.left, plot.right);
  const y = scaleTo(low, high, plot.bottom, plot.top);
  const parts = axes(plot, x, y, {
    xTicks: ticks(epochs[0], epochs.at(-1), width < 420 ? 4 : 6).filter(Number.isInteger),
    yTicks: ticks(low, high, 4),
    xText: trimmed,
    yText: (at) => (percentages ? trimmed(100 * at) : trimmed(at)),
    xName: "epoch",
  });
  series.forEach(([, column], at) => {
    let path = "";
    column.forEach((value, row) => {
      if (value === null) return;
      path += `${row && column[row - 1] !== null && path ? "L" : "M"}${x(epochs[row]).toFixed(1)} ${y(value).toFixed(1)}`;
    });
    parts.push(svg("path", { d: path, class: `line ${LOOKS[at % LOOKS.length]}` }));
  });
  const last = series.map(([name, column]) => `${name} ends at ${trimmed(column.findLast((value) => value !== null))}`);
  return picture(width, plot.bottom + 44, `Over the epochs: ${last.join(", ")}`, ...parts);
}

function trainingFigure() {
  const log = report.log;
  if (!log) return;
  const rows = Object.values(log)[0].length;
  const given = log.epoch?.every((value) => value !== null) ? log.epoch : Array.from({ length: rows }, (_, row) => row);
  const epochs = given.map((epoch) => epoch + (given[0] === 0 ? 1 : 0)); // people count from one
  const draws = [];
  for (const [pattern, percentages] of [[/loss/i, false], [/accuracy/i, true]]) {
    const series = Object.entries(log).filter(([name]) => pattern.test(name)).slice(0, LOOKS.length);
    if (!series.length) continue;
    const legend = () => el("ul", { class: "legend", "aria-label": "Lines" }, series.map(([name], at) =>
      el("li", null, svg("svg", { width: 22, height: 10, "aria-hidden": "true" }, line(0, 5, 22, 5, `line ${LOOKS[at]}`)),
        said(`${name.replaceAll("_", " ")}${percentages ? ", %" : ""}`, 40))));
    draws.push((width) => [legend(), linesOver(width, epochs, series, percentages)]);
  }
  if (draws.length) figure("Training", `${plural(rows, "epoch")}.`, draws);
}

// -- the small line beside a suspect ----------------------------------------------------------------------

function sparkline(row) {
  const curve = curveOf(row);
  const seen = curve?.filter((value) => !Number.isNaN(value)) ?? [];
  if (!seen.length) return null;
  const [width, height] = [132, 34];
  const x = scaleTo(0, Math.max(curve.length - 1, 1), 2, width - 2);
  const y = scaleTo(0, 1, height - 2, 2);
  let path = "";
  curve.forEach((value, at) => {
    if (Number.isNaN(value)) return;
    path += `${at && !Number.isNaN(curve[at - 1]) && path ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  const gapless = seen.length === curve.length;
  const words = `confidence in the given label, ${seen[0].toFixed(2)} at first and ${seen.at(-1).toFixed(2)} at last of ${plural(report.curves.epochs, "epoch")}`;
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "spark", role: "img", "aria-label": words },
    svg("title", null, words),
    svg("rect", { width, height, rx: 4, class: "spark-ground" }),
    gapless ? svg("path", { d: `${path}L${width - 2} ${height}L2 ${height}z`, class: "spark-area" }) : null,
    svg("path", { d: path, class: "line line-a" }),
    svg("circle", { cx: x(curve.findLastIndex((value) => !Number.isNaN(value))), cy: y(seen.at(-1)), r: 2.5, class: "accent" }));
}
