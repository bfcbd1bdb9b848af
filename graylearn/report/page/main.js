// The start: what is seen first is drawn first, the charts below once the page is on the screen.

startTheme();
restoreDecisions();
drawTiles();
byId("classes-legend").append(...kindLegend());
drawClasses();
startList();
startReview();
refilter();
refreshDecisions([]);
requestAnimationFrame(() =>
  setTimeout(() => {
    drawFigures();
    drawAbout();
    document.documentElement.dataset.ready = "";
  }),
);
