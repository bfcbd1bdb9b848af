// Annotators: how good each of them is, how far they agree, and the samples where one more label is worth most.

const ASKED_AT_FIRST = 10;

const askedAgain = (report.annotators?.ask ?? [])
  .map((asked) => ({ ...asked, row: rowOfIndex[asked.index] }))
  .filter((asked) => asked.row >= 0);

function agreementWords(alpha) {
  if (alpha === null) return "No sample was labelled twice, so that nobody can tell how far they agree.";
  const words = alpha > 0.8 ? "they agree well" : alpha > 0.4 ? "they agree in part" : "they hardly agree";
  return `Krippendorff's alpha is ${alpha.toFixed(2)}: ${words} (1 is always, 0 as if by chance).`;
}

function personLine([name, labels, agrees, quality]) {
  const bar = el("span", { class: "chance-bar" });
  bar.style.width = `${Math.max(1, 100 * quality)}%`;
  return el("tr", null, el("th", { scope: "row" }, said(name, 40)), el("td", { class: "numbers" }, number(labels)),
    el("td", { class: "numbers" }, percent(agrees, 0)), el("td", { class: "numbers" }, percent(quality, 0)),
    el("td", { class: "quality-cell", "aria-hidden": "true" }, el("span", { class: "chance-ground" }, bar)));
}

function askedLine({ row, sure, said: opinions, ask }) {
  const each = opinions.map(([who, what]) => el("li", null, said(who, 24), ": ", el("b", null, said(what, 24))));
  return el("tr", null,
    el("th", { scope: "row" }, el("button", { type: "button", class: "link", title: "Show it", onclick: () => showOnly([row], said(idName(row), 40)) }, said(idName(row), 60))),
    el("td", null, el("ul", { class: "opinions" }, each)),
    el("td", null, said(report.classes[samples.label[row]], 24)), el("td", { class: "numbers" }, percent(sure, 0)),
    el("td", null, ask === null ? el("span", { class: "muted" }, "someone new") : said(ask, 24)));
}

const headings = (...names) => el("thead", null, el("tr", null, names.map((name) => el("th", { scope: "col" }, name))));

function drawAnnotators(limit = ASKED_AT_FIRST) {
  byId("annotators").hidden = byId("annotators-link").hidden = !report.annotators;
  if (!report.annotators) return;
  const { people, agreement } = report.annotators;
  byId("agreement").textContent = agreementWords(agreement);
  byId("people").replaceChildren(
    el("caption", { class: "unseen" }, "Annotators, the least reliable first"),
    headings("annotator", "labels", "agrees with the consensus", "right", ""),
    el("tbody", null, people.map(personLine)));
  byId("asked").replaceChildren(
    el("caption", { class: "unseen" }, "Samples to ask about again, the least sure first"),
    headings("sample", "what they said", "consensus", "how sure", "ask"),
    el("tbody", null, askedAgain.slice(0, limit).map(askedLine)));
  byId("asked-all").onclick = () => showOnly(askedAgain.map(({ row }) => row), "the samples to ask about again");
  byId("asked-more").hidden = askedAgain.length <= limit;
  byId("asked-more").onclick = () => drawAnnotators(askedAgain.length);
}
