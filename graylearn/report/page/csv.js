// Decisions as CSV (RFC 4180), and back. graylearn/report/decisions.py reads by the same rules.
//
// A field that a spreadsheet would take for a formula gets an apostrophe before it, and so does a field that
// already has apostrophes there: reading takes exactly one away. Signs alone, such as +, are no formula.

const FORMULA = new RegExp(
  "^(?=[\\s\\S]*[^ \\t\\r\\n'=+\\-@\\uff1d\\uff0b\\uff0d\\uff20])'*[ \\t\\r\\n]*[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20]" +
    "|^'*[\\t\\r\\n]",
);
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function csvField(text) {
  const guarded = FORMULA.test(text) ? `'${text}` : text;
  return /[",;\t\r\n']|^\s|\s$/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

const unguarded = (field) => (field.startsWith("'") && FORMULA.test(field) ? field.slice(1) : field);

/** The decisions as CSV text, in the order of the dataset. */
function decisionsCsv() {
  const rows = [];
  for (let row = 0; row < count; row++) if (decided.verdict[row]) rows.push(row);
  rows.sort((a, b) => samples.index[a] - samples.index[b]);
  const lines = rows.map((row) => {
    const label = decided.verdict[row] === RELABEL ? report.classes[decided.label[row]] : "";
    const given = report.classes[samples.label[row]];
    return [idText(row), VERDICTS[decided.verdict[row]], label, given, report.run].map(csvField).join(",");
  });
  return ["id,decision,label,given,run", ...lines, ""].join("\r\n");
}

/** The text as UTF-8; half a surrogate pair (a file name of other bytes) as its own three bytes. */
function csvBlob(text) {
  const parts = ["\ufeff"];
  let rest = text;
  for (let at = rest.search(LONE); at >= 0; at = rest.search(LONE)) {
    const code = rest.charCodeAt(at);
    parts.push(rest.slice(0, at));
    parts.push(Uint8Array.of(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)));
    rest = rest.slice(at + 1);
  }
  parts.push(rest);
  return new Blob(parts, { type: "text/csv;charset=utf-8" });
}

/** The text as a decoder gives it back: three replacement signs for half a surrogate pair. */
const asDecoded = (text) => text.replace(new RegExp(LONE, "g"), "\ufffd\ufffd\ufffd");

/** Rows of fields; quotes, line ends and separators inside quotes are kept. */
function parseCsv(whole) {
  const told = /^"?sep=([^"\p{L}\p{N}_])"?[ \t]*\r?\n/iu.exec(whole); // the line of a spreadsheet
  const text = told ? whole.slice(told[0].length) : whole;
  const firstLine = text.split(/\r?\n/, 1)[0];
  const uses = (sign) => firstLine.split(sign).length;
  const guessed = [",", ";", "\t", "|"].reduce((best, sign) => (uses(sign) > uses(best) ? sign : best));
  const separator = told ? told[1] : guessed;
  const rows = [[]];
  let field = "";
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (quoted) {
      if (sign !== '"') field += sign;
      else if (text[at + 1] === '"') field += text[++at];
      else quoted = false;
    } else if (sign === '"' && field === "") {
      quoted = true;
    } else if (sign === separator) {
      rows.at(-1).push(field);
      field = "";
    } else if (sign === "\n" || sign === "\r") {
      if (sign === "\r" && text[at + 1] === "\n") at++;
      rows.at(-1).push(field);
      field = "";
      rows.push([]);
    } else {
      field += sign;
    }
  }
  rows.at(-1).push(field);
  return rows.filter((row) => row.some((value) => value !== ""));
}

/** A name less what a spreadsheet may change: blanks around it, zeros before a whole number and decimals, capitals of a bool. */
function bare(name) {
  const plain = name.trim();
  if (/^(true|false)$/i.test(plain)) return plain.toLowerCase();
  const number = /^(-?)0*([0-9]+?)(\.0*)?$/.exec(plain);
  return number ? number[1] + number[2] : plain;
}

/** Where in a list a name stands, also as a spreadsheet spells it where no other could be meant; -1 where nowhere.
 *
 * graylearn/runs/apply.py finds names by the same rule. */
function whereNamed(names) {
  const exact = new Map();
  const alike = new Map();
  names.map(asDecoded).forEach((name, at) => {
    exact.set(name, at);
    alike.set(bare(name), alike.has(bare(name)) ? -1 : at);
  });
  return (name) => exact.get(name) ?? alike.get(bare(name)) ?? -1;
}

/** Take decisions from CSV text; a sentence on what was taken and what was not. */
function loadCsv(text) {
  const rows = parseCsv(text.replace(/^\ufeff/, ""));
  const header = (rows[0] ?? []).map((name) => name.trim().toLowerCase());
  const where = ["id", "decision", "label"].map((name) => header.indexOf(name));
  if (where[0] < 0 || where[1] < 0) {
    return { taken: [], message: "Not a file of decisions: its first line must name id and decision, and label where it relabels." };
  }
  const [given, run] = ["given", "run"].map((name) => header.indexOf(name));
  if (run >= 0 && rows.slice(1).some((fields) => (fields[run]?.trim() || report.run) !== report.run)) {
    return { taken: [], message: "These are decisions of another run. If you mean them, delete their column run." };
  }
  const rowOf = whereNamed(Array.from({ length: count }, (_, row) => idText(row)));
  const classOf = whereNamed(report.classes);
  const chosen = new Map();
  const left = { id: 0, again: 0, given: 0, decision: 0, label: 0 };
  for (const fields of rows.slice(1)) {
    const [id, word, label] = where
      .map((column) => fields[column] ?? "")
      .map(unguarded);
    if (word.trim() === "" && label.trim() === "") continue; // undecided
    const row = rowOf(id);
    const verdict = VERDICTS.indexOf(word.trim().toLowerCase());
    const had = unguarded(fields[given] ?? "");
    if (row < 0) left.id += 1;
    else if (chosen.has(row)) left.again += 1;
    else if (had.trim() && classOf(had) !== samples.label[row]) left.given += 1;
    else if (verdict < 1) left.decision += 1;
    else if (verdict === RELABEL && classOf(label) < 0) left.label += 1;
    else chosen.set(row, [verdict, verdict === RELABEL ? classOf(label) : -1]);
  }
  takeFromStorage();
  const before = decided.verdict.slice();
  const taken = decide(chosen.keys(), (row) => chosen.get(row));
  const replaced = taken.filter((row) => before[row]).length;
  const problems = [];
  if (left.id) problems.push(`${plural(left.id, "id")} not in this report`);
  if (left.again) problems.push(`${plural(left.again, "decision")} on a sample decided above`);
  if (left.given) problems.push(`${plural(left.given, "sample")} labelled otherwise here`);
  if (left.decision) problems.push(`${plural(left.decision, "unknown decision")}`);
  if (left.label) problems.push(`${plural(left.label, "unknown label")}`);
  const rest = problems.length ? ` Left out: ${problems.join(", ")}.` : "";
  return { taken, message: `${plural(chosen.size, "decision")} loaded${replaced ? `, ${number(replaced)} in place of another` : ""}.${rest}` };
}
