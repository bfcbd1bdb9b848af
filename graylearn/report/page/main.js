// The start: what is seen first is drawn first, the charts below once the page is on the screen.

startTheme();
takeFromStorage();
byId("panels").open = !matchMedia("(max-width: 46rem)").matches; // on a phone the suspects would lie far below them
drawTiles();
byId("classes-legend").append(...kindLegend());
drawClasses();
drawPairs("together");
drawPairs("pairs");
drawMistaken();
drawChecks();
startThreshold();
startList();
startPictures();
drawSteps();
drawDanger();
startReview();
drawCopies();
drawAnnotators();
refilter();
refreshDecisions([]);
performance.mark("suspects drawn");
requestAnimationFrame(() =>
  setTimeout(() => {
    startMap();
    drawFigures();
    drawAbout();
    performance.mark("all drawn");
    document.documentElement.dataset.ready = "";
    whenIdle((idle) => prepareSearch(0, idle));
  }),
);
