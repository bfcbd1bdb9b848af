// Where accepting everything would wipe out a class: said at the top, and asked before it is done in bulk.

const LEAST_MEMBERS = 4;

/** Classes most of which is suspect: [class, samples, of them suspects]; most suspect first. */
function doubtedClasses() {
  return report.perClass
    .map(([ok, mislabelled, ood], k) => [k, ok + mislabelled + ood, mislabelled + ood])
    .filter(([k, all, suspects]) => all >= LEAST_MEMBERS && 2 * suspects > all && !misspelt.has(k))
    .sort((a, b) => b[2] / b[1] - a[2] / a[1] || a[0] - b[0]);
}

function drawDanger() {
  const found = doubtedClasses();
  const lines = found.slice(0, 5).map(([k, all, suspects]) =>
    el("li", null, "Most of ", el("strong", null, said(report.classes[k], 40)),
      ` is suspect: accepting all suggestions leaves ${number(all - suspects)} of ${number(all)} samples. `,
      listLink("Look at them", () => showClass(k))));
  if (found.length > 5) lines.push(el("li", null, `${plural(found.length - 5, "more class", "more classes")} like that.`));
  byId("danger").hidden = !lines.length;
  byId("danger-list").replaceChildren(...lines);
}

/** Classes that would keep less than half of their samples if `rows` were decided so: [class, left, all]. */
function emptied(rows, choose) {
  const lost = new Int32Array(report.classes.length);
  const now = new Int32Array(report.classes.length);
  const leaves = (row, verdict, label) => verdict === DROP || (verdict === RELABEL && label !== samples.label[row]);
  for (const row of rows) {
    const [verdict, label] = choose(row);
    if (leaves(row, verdict, label) && !leaves(row, decided.verdict[row], decided.label[row])) now[samples.label[row]] += 1;
  }
  for (let row = 0; row < count; row++) {
    if (leaves(row, decided.verdict[row], decided.label[row])) lost[samples.label[row]] += 1;
  }
  const found = [];
  report.perClass.forEach(([ok, mislabelled, ood], k) => {
    const all = ok + mislabelled + ood;
    const left = all - lost[k] - now[k];
    if (all >= LEAST_MEMBERS && now[k] && 2 * left < all && !misspelt.has(k)) found.push([k, left, all]);
  });
  return found.sort((a, b) => a[1] / a[2] - b[1] / b[2]);
}

/** Do it, or ask first where a class would be left with less than half of its samples. */
function unlessDangerous(rows, choose, act) {
  const found = emptied(rows, choose);
  if (!found.length) {
    act();
    return;
  }
  byId("ask-list").replaceChildren(
    ...found.slice(0, 8).map(([k, left, all]) =>
      el("li", null, el("strong", null, said(report.classes[k], 40)), ` keeps ${number(left)} of ${number(all)} samples`)),
    ...(found.length > 8 ? [el("li", null, `and ${plural(found.length - 8, "more class", "more classes")}`)] : []),
  );
  byId("ask-ok").onclick = () => {
    byId("ask-dialog").close();
    act();
  };
  byId("ask-dialog").showModal();
}
