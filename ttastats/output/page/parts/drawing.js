/* When and how is a plot drawn? When it comes near, in the width and the colours there are. */

const SVG_UP_TO = 5000; // rows; beyond, a canvas is drawn faster and needs less memory
const PRINTED_WIDTH = 680; // CSS pixels between the margins of A4 and of Letter
const NARROW = 520;

const figures = [...document.querySelectorAll('figure[data-plot]')];
const drawings = new Map(); // by figure, finished or not
let isKept = () => true;

/** Nothing is read from anywhere: what asks for it is refused. */
const refusal = () => Promise.reject(new Error('this page reads no other file'));
const noLoader = {load: refusal, sanitize: refusal, http: refusal, file: refusal};

function scheme() {
  const preference = document.documentElement.dataset.scheme;
  return preference || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

/** Give the filtered rows of the tables of a plot, by name. */
function tablesOf(plot, keep = isKept) {
  return Object.fromEntries(Object.entries(plot.tables).map(([name, index]) =>
    [name, rowsOf(pageData.tables[index], keep)]));
}

/** Count the columns of a table by which rows can be chosen. */
function filtersOf(index) {
  return pageData.filters.filter((name) => name in pageData.tables[index].columns).length;
}

/** Count the rows of the tables that tell most of what can be chosen: of runs, not of a target. */
function countRows(plot, tables) {
  const entries = Object.entries(plot.tables);
  const mostFilters = Math.max(...entries.map(([, index]) => filtersOf(index)));
  const fullest = entries.filter(([, index]) => mostFilters > 0 && filtersOf(index) === mostFilters);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  return {count: sum(fullest.map(([name]) => tables[name].length)),
    total: sum(fullest.map(([, index]) => pageData.tables[index].height))};
}

/** Say of a plot what the reader's choice does to it, and to the words below it. */
function choiceWords({count, total}) {
  if (!isNarrowed()) return '';
  if (total > 0 && count < total) return 'Filtered; the caption describes all runs.';
  return 'This plot ignores the filter.';
}

function configFor(look, width, chart) {
  const config = pageData.themes[look];
  if (width >= NARROW) return config;
  // A phone: names of series in a column, and shorter ones beside the axis. Where these push the
  // plot to the right, its legend may begin above them.
  const hasNames = typeof chart.encoding?.y?.scale?.domain?.[0] === 'string';
  return {...config,
    style: {...config.style, text: {...config.style.text, fontSize: 10}},
    legend: {...config.legend, columns: 1, labelFontSize: 10, labelLimit: width - 50,
      ...(hasNames ? {layout: {top: {anchor: 'end'}}} : {})},
    axis: {...config.axis, labelFontSize: 10, titleFontSize: 10,
      labelLimit: Math.round(width * 0.5), titleLimit: width - 20},
    axisX: {...config.axisX, titleAnchor: 'end'}}; // in the middle, a long title would be cut
}

/** Count the different values of the field behind a channel, in whichever layer has one. */
function distinct(chart, channel, tables) {
  const channels = [chart, ...(chart.layer ?? [])].map((view) => view.encoding?.[channel]);
  const {field} = channels.find((view) => view?.field && view.type !== 'quantitative') ?? {};
  const rows = Object.values(tables).flat().filter((row) => field in row);
  return new Set(rows.map((row) => row[field])).size;
}

/** Give the height in pixels: a plot of rows, one below the other, shrinks with those chosen. */
function heightOf(plot, tables) {
  const {height} = plot.chart;
  const count = distinct(plot.chart, 'y', tables);
  if (height?.step) { // Vega-Lite would warn that it cannot fit it
    const lanes = distinct(plot.chart, 'yOffset', tables) || 1;
    return height.step * (count || 1) * lanes * (lanes > 1 ? 1.25 : 1);
  }
  const total = isNarrowed() ? distinct(plot.chart, 'y', tablesOf(plot, () => true)) : count;
  return count && count < total ? Math.max(40, (height * count) / total) : height;
}

/** Give a chart as it fits a phone: the names of series stand in one column, as `configFor` says. */
function fitting(chart, width) {
  if (width >= NARROW) return chart;
  return JSON.parse(JSON.stringify(chart, (key, value) => (['columns', 'labelLimit'].includes(key) ? undefined : value)));
}

function specification(plot, tables, look, width, caption) {
  return {
    autosize: {type: 'fit-x', contains: 'padding'},
    description: caption,
    ...fitting(withOwn(plot.chart, tables), width),
    width,
    height: heightOf(plot, tables),
    datasets: tables,
    config: configFor(look, width, plot.chart),
  };
}

/** Draw a figure. What was there stays until the new is there, so that nothing jumps. */
async function draw(figure, look = scheme(), width = null) {
  const box = figure.querySelector('.drawing');
  const drawing = {look, width: width ?? Math.floor(box.clientWidth), view: null};
  const before = drawings.get(figure);
  drawings.set(figure, drawing);
  const plot = (await load()).plots[figure.dataset.plot];
  const tables = tablesOf(plot);
  const target = element('div');
  const counts = countRows(plot, tables);
  if (counts.total > 0 && counts.count === 0) {
    target.append(element('p', {className: 'empty',
      textContent: 'No data match the filter. The caption describes all runs.'}));
  } else {
    const caption = figure.querySelector('figcaption').textContent;
    const rows = Math.max(...Object.values(tables).map((table) => table.length));
    const result = await vegaEmbed(target, specification(plot, tables, look, drawing.width, caption), {
      mode: 'vega-lite', ast: true, actions: false, defaultStyle: false, tooltip: showTooltip,
      // A choice may leave a layer without rows, of which Vega would warn.
      loader: noLoader, logLevel: 1, renderer: rows > SVG_UP_TO ? 'canvas' : 'svg',
    });
    drawing.view = result;
    // What Vega names no further is nothing to a screen reader.
    for (const mark of target.querySelectorAll('[role="graphics-symbol"]:not([aria-label])')) mark.ariaHidden = 'true';
  }
  if (drawings.get(figure) !== drawing) { // a newer drawing replaced it
    drawing.view?.finalize();
    return;
  }
  before?.view?.finalize();
  box.replaceChildren(target);
  const words = drawing.view ? [choiceWords(counts), ownWords(tables)].join(' ').trim() : '';
  if (words) box.append(element('p', {className: 'whole', textContent: words}));
  figure.dataset.drawn = look;
}

function forget(figure) {
  const before = drawings.get(figure);
  drawings.delete(figure);
  before?.view?.finalize();
  delete figure.dataset.drawn;
}

function isNear(figure) {
  const {top, bottom} = figure.getBoundingClientRect();
  return figure.checkVisibility() && bottom > -400 && top < innerHeight + 400;
}

/** Draw what is near again; the rest is drawn when it comes near. */
function redraw() {
  for (const figure of figures) {
    if (isNear(figure)) draw(figure);
    else forget(figure);
  }
}

/** Draw what is near and was not drawn; in a section that is closed nothing is. */
function drawNew() {
  for (const figure of figures) if (!drawings.has(figure) && isNear(figure)) draw(figure);
}

function watch() {
  const nearing = new IntersectionObserver(drawNew, {rootMargin: '400px'});
  for (const figure of figures) nearing.observe(figure);
  const sizing = new ResizeObserver(() => {
    for (const [figure, {width}] of drawings) {
      const newWidth = Math.floor(figure.querySelector('.drawing').clientWidth);
      if (newWidth > 0 && newWidth !== width && !printing) (isNear(figure) ? draw : forget)(figure);
    }
  });
  sizing.observe(document.querySelector('main'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
}

/* Printing waits for no promise that needs the event loop; Vega's are kept before it goes on. */
let printing = false;

addEventListener('beforeprint', () => {
  printing = true;
  for (const figure of figures) if (figure.checkVisibility()) draw(figure, 'light', PRINTED_WIDTH);
});

addEventListener('afterprint', () => {
  printing = false;
  for (const figure of figures) forget(figure);
  redraw();
});
