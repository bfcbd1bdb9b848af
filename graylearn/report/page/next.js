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

/** A link to a card, which not every browser unfolds by itself. */
function cardLink(card, name) {
  return el("a", { href: `#${card}-card`, onclick: () => { byId("panels").open = true; } }, name);
}

function drawSteps() {
  const steps = [];
  const where = (passes) => Array.from(samples.score.keys()).filter(passes);
  const listed = (verb, name, rows) => listLink(`${verb} ${name}`, () => showOnly(rows, name));
  byId("steps-card").hidden = !numSuspects && !report.lookFirst;
  if (!numSuspects) {
    steps.push([listed("Look at", `the first ${number(report.lookFirst)} by score`, where((row) => row < report.lookFirst)),
      ": nothing stands out enough to be flagged, and they look least like their labels. Where some are wrong, go on down the list."]);
  } else {
    const spelt = new Set(misspeltRows);
    if (spelt.size) {
      steps.push([`${plural(spelt.size, "label")} ${spelt.size === 1 ? "is" : "are"} probably misspelt: `,
        el("button", { type: "button", onclick: () => decideUndecided(misspeltRows, suggestion) }, "Correct them"), " or ", cardLink("pairs", "see which"), "."]);
    }
    const suspects = where((row) => samples.suspected[row] && !spelt.has(row));
    const [sure, others] = [true, false].map((wanted) => suspects.filter((row) => (samples.level?.[row] === 2) === wanted));
    if (sure.length) steps.push([listed("Look through", `the ${plural(sure.length, "sample")} the audit is sure of`, sure), ", and accept what you agree with."]);
    const [card, word] = pairLists.together.length ? ["together", "by group"] : ["pairs", "by pair"];
    const atOnce = pairLists[card][0]?.rows.length > 2 ? [", or many at once ", cardLink(card, word)] : [];
    const left = sure.length || spelt.size ? `${number(others.length)} to review` : plural(others.length, "suspect");
    if (others.length) steps.push([listed("Judge", `the ${left}`, others), " one by one", ...atOnce, "."]);
    const near = where((row) => !samples.suspected[row] && samples.score[row] >= report.doubtful);
    if (near.length) steps.push([listed("Look at", `the ${plural(near.length, "sample")} that came near`, near), ": not flagged, and in some doubt."]);
    steps.push(["Download the decisions", report.command ? " and run" : ".", report.command ? commandBox() : null]);
  }
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
