// The start: what is seen first is drawn first, the charts below once the page is on the screen.

startTheme();
restoreDecisions();
drawTiles();
byId("curve-hint").hidden = !report.curves;
byId("classes-legend").append(...kindLegend());
drawClasses();
startList();
startReview();
refilter();
refreshDecisions([]);
performance.mark("suspects drawn");
requestAnimationFrame(() =>
  setTimeout(() => {
    drawFigures();
    drawAbout();
    performance.mark("all drawn");
    document.documentElement.dataset.ready = "";
    window.requestIdleCallback?.((idle) => prepareSearch(0, idle));
  }),
);
