// The payload as columns, and the few helpers that build the page from it.
//
// All scripts of the page are joined into one module in the order named in write.py, so they share one scope.
// Whatever the data says reaches the page as text nodes only: nothing here or elsewhere parses it as markup.

const report = JSON.parse(document.getElementById("data").textContent);
const KINDS = ["ok", "mislabelled", "ood"];
const KIND_NAMES = ["not flagged", "mislabelled", "belongs to no class"];
const count = report.id.length;

function digits(text) {
  const found = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) found[at] = text.charCodeAt(at) - 48;
  return found;
}

const samples = {
  id: report.id,
  index: Int32Array.from(report.index),
  label: Int32Array.from(report.label),
  suggested: Int32Array.from(report.suggested),
  score: Float64Array.from(report.score).map((value) => value / report.scale),
  confidence: Float64Array.from(report.confidence).map((value) => value / report.scale),
  kind: digits(report.kind),
  suspected: digits(report.suspected),
  level: report.level ? digits(report.level) : null,
  because: report.because,
};
const LEVEL_NAMES = ["", "to review", "sure"];
const numSuspects = samples.suspected.reduce((sum, flag) => sum + flag, 0);

const byId = (id) => document.getElementById(id);
const idText = (row) => String(samples.id[row]);
const idName = (row) => (report.idWord ? `${report.idWord} ${idText(row)}` : idText(row));

/** (total,) where in a list of the indices of samples each sample stands; -1 where it does not. */
function whereIn(indices) {
  const where = new Int32Array(report.total).fill(-1);
  for (let at = 0; at < indices.length; at++) where[indices[at]] = at;
  return where;
}

const rowOfIndex = whereIn(samples.index);

// -- text as a person may safely see it ------------------------------------------------------------------

const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Control and direction-override characters, and blanks at the ends, made visible, so that no name can pose as another. */
function visible(text) {
  return String(text).replace(/^ +| +$/g, (blanks) => "␣".repeat(blanks.length)).replace(HIDDEN, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : `⟨${code.toString(16).padStart(4, "0")}⟩`;
  });
}

/** At most `length` characters of a text, its end among them: paths and names of one family differ there. */
function short(text, length) {
  const all = String(text);
  const enough = 4 * length + 8; // a text may be of megabytes
  const shown = visible(all.length <= 2 * enough ? all : all.slice(0, enough) + all.slice(-enough));
  const signs = Array.from(shown);
  const end = Math.floor(length / 3);
  return signs.length <= length ? shown : `${signs.slice(0, length - 1 - end).join("")}…${signs.slice(-end).join("")}`;
}

const className = (k, length = 60) => (k < 0 ? "no class" : short(report.classes[k], length));

const whole = new Intl.NumberFormat("en");
const number = (value) => whole.format(value);
const percent = (share, decimals = 1) => `${(100 * share).toFixed(decimals)}%`;
const plural = (n, word, many = `${word}s`) => `${number(n)} ${n === 1 ? word : many}`;
const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

// -- elements --------------------------------------------------------------------------------------------

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** Text of the data, isolated from the direction of what stands around it; the whole of it on hover. */
function said(text, length = 60) {
  const shown = short(text, length);
  const title = String(text).length > length ? short(text, 500) : null;
  // names_like_this/and_paths break where their words end
  const words = shown.split(/(?<=[_/])/).flatMap((word, at) => (at ? [el("wbr"), word] : [word]));
  return el("bdi", { dir: "auto", title }, ...words);
}

// -- storage, which a browser may deny --------------------------------------------------------------------

const storage = {
  works: true,
  get(key) {
    try {
      return window.localStorage.getItem(key);
    } catch {
      this.works = false;
      return null;
    }
  },
  set(key, value) {
    try {
      window.localStorage.setItem(key, value);
      this.works = true;
    } catch {
      this.works = false;
    }
    return this.works;
  },
};

/** Call `act` when the browser has nothing else to do, with how long it may take; Safari cannot tell: there it is soon. */
const whenIdle = window.requestIdleCallback ?? ((act) => setTimeout(() => {
  const end = performance.now() + 10;
  act({ timeRemaining: () => end - performance.now() });
}));

// -- previews: a block is read when one of its samples is shown, all of them when somebody searches -------

const previewOfIndex = whereIn(report.previews.index);
const previewBlocks = [];

function previewOf(row) {
  const at = previewOfIndex[samples.index[row]];
  if (at < 0) return null;
  const block = Math.floor(at / report.previews.block);
  previewBlocks[block] ??= JSON.parse(document.getElementsByClassName("previews")[block].textContent);
  return previewBlocks[block][at % report.previews.block];
}

/** The words of a sample that a search looks through, in lower case. */
function searchText(row) {
  const item = previewOf(row);
  let content = "";
  if (item && item[0] === "text") content = item[1];
  else if (item && item[0] === "row") content = item[2].join("\n");
  return `${idText(row)}\n${content}`.toLowerCase();
}

/** What the columns of tables are called, and (count,) the cells of one of them, null where not known. */
const columnNames = [...new Set(report.previews.columns.flat())];
const cellsOf = new Map();

function cells(column) {
  if (!cellsOf.has(column)) {
    const at = report.previews.columns.map((names) => names.indexOf(column));
    cellsOf.set(column, Array.from({ length: count }, (_, row) => {
      const item = previewOf(row);
      return item?.[0] === "row" ? item[2][at[item[1]]] ?? null : null;
    }));
  }
  return cellsOf.get(column);
}

// -- curves ----------------------------------------------------------------------------------------------

const curveOfIndex = report.curves && whereIn(report.curves.index);

/** Confidence in the given label over the epochs, NaN where the sample was not seen; null where not known. */
function curveOf(row) {
  const at = curveOfIndex ? curveOfIndex[samples.index[row]] : -1;
  if (at < 0) return null;
  const { points, bytes } = report.curves;
  const letters = 4 * Math.ceil(points / 3);
  const part = Array.from(atob(bytes.slice(at * letters, (at + 1) * letters)), (sign) => sign.charCodeAt(0));
  return part.slice(0, points).map((value) => (value === 255 ? NaN : value / 254));
}
