// What to do: first steps at the top, progress by class, and the command once the decisions are downloaded.

function commandBox() {
  const text = report.command;
  const status = el("span", { class: "muted small", role: "status" });
  const copy = el("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = "copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      status.textContent = "selected: copy it with Ctrl+C";
    }
  } }, "Copy");
  const code = el("code", { class: "command" }, visible(text));
  return el("p", { class: "command-line" }, code, copy, status);
}

/** From which score on a sample that is not flagged is still worth a look. */
const DOUBTFUL = 0.25;

function drawSteps() {
  const steps = [];
  const spelt = new Set(misspeltRows);  // a step of their own
  const [toReview, sure] = [1, 2].map((level) => Array.from((samples.level ?? []).keys())
    .filter((row) => samples.level[row] === level && !spelt.has(row)));
  const listed = (name, level) => listLink(name, () => {
    showList({ level });
    focusCurrent();
  });
  byId("steps-card").hidden = !numSuspects && !report.lookFirst;
  if (!numSuspects) {
    if (!report.lookFirst) return;
    const name = `the first ${number(report.lookFirst)} by score`;
    steps.push([listLink(`Look at ${name}`, () => showOnly(Array.from({ length: report.lookFirst }, (_, row) => row), name)),
      ": nothing stands out enough to be flagged, and they look least like their labels. Where some are wrong, go on down the list."]);
    byId("steps").replaceChildren(...steps.map((step) => el("li", null, step)));
    return;
  }
  if (misspeltRows.length) {
    steps.push([`${plural(misspeltRows.length, "label")} ${misspeltRows.length === 1 ? "is" : "are"} probably misspelt: `,
      el("button", { type: "button", onclick: () => decideUndecided(misspeltRows, suggestion) }, "Correct them"), " or ", el("a", { href: "#pairs-card" }, "see which"), "."]);
  }
  const [card, word] = pairLists.together.length ? ["together", "by group"] : ["pairs", "by pair"];
  const atOnce = pairLists[card][0]?.rows.length > 2 ? [", or many at once ", el("a", { href: `#${card}-card` }, word)] : [];
  const some = (name, rows, level) => (spelt.size ? listLink(name, () => showOnly(rows, name)) : listed(name, level));
  if (sure.length) steps.push([some(`Look through the ${plural(sure.length, "sample")} the audit is sure of`, sure, "2"), ", and accept what you agree with."]);
  if (!sure.length) steps.push([listed("Start with the largest scores", ""), ": keep, drop or relabel each", ...atOnce, "."]);
  else if (toReview.length) steps.push([some(`Judge the ${number(toReview.length)} to review`, toReview, "1"), " one by one", ...atOnce, "."]);
  const doubtful = Array.from(samples.score.keys()).filter((row) => !samples.suspected[row] && samples.score[row] >= DOUBTFUL);
  if (doubtful.length) {
    const name = `the ${plural(doubtful.length, "sample")} that came near`;
    steps.push([listLink(`Look at ${name}`, () => showOnly(doubtful, name)), ": not flagged, and in some doubt."]);
  }
  steps.push(["Download the decisions", report.command ? " and run" : ".", report.command ? commandBox() : null]);
  byId("steps").replaceChildren(...steps.map((step) => el("li", null, step)));
}

/** The command, once there is a file that it can be given. */
function showCommand() {
  if (!report.command || byId("command").childElementCount) return;
  byId("command").append(el("p", { class: "small" }, "Now write the cleaned data, where decisions.csv is the file just saved:"), commandBox());
  byId("command").hidden = false;
}

/** How many suspects of each class are decided. */
function markClasses(byClass) {
  for (const line of byId("classes").querySelectorAll("[data-class]")) {
    const k = Number(line.dataset.class);
    const [, mislabelled, ood] = report.perClass[k];
    const done = byClass[k];
    line.querySelector(".done").textContent = done ? (done >= mislabelled + ood ? "all" : number(done)) : "";
  }
}
