/* What is behind a plot? Its rows as tables, for who cannot see it or wants to count. */

const MOST_SHOWN = 200;

/** Add to a figure what opens its rows, and what saves it. */
function addTools(figure) {
  const box = element('div', {className: 'rows'});
  const details = element('details', {}, element('summary', {textContent: 'Data'}), box);
  const save = element('button', {type: 'button', textContent: 'Save as SVG'});
  details.addEventListener('toggle', () => fillRows(figure, details));
  save.addEventListener('click', () => saveSvg(figure));
  figure.append(element('div', {className: 'tools'}, details, save));
}

function fillRows(figure, details) {
  const plot = held.plots[figure.dataset.plot];
  const tables = details.open ? Object.entries(tablesOf(plot)) : [];
  details.querySelector('.rows').replaceChildren(...tables.map(([name, rows]) => rowsTable(name, rows)));
}

function rowsTable(name, rows) {
  const names = Object.keys(rows[0] ?? {});
  const head = element('tr', {}, ...names.map((text) => element('th', {scope: 'col', textContent: visible(text)})));
  const body = rows.slice(0, MOST_SHOWN).map((row) =>
    element('tr', {}, ...names.map((column) => element('td', {textContent: cellText(row[column])}))));
  const shown = rows.length > MOST_SHOWN ? `, the first ${MOST_SHOWN}` : '';
  const caption = element('caption', {textContent: `${visible(name)}: ${counted(rows.length, 'row', 'rows')}${shown}`});
  const table = element('table', {}, caption, element('thead', {}, head), element('tbody', {}, ...body));
  const box = element('div', {className: 'table-box', role: 'region', tabIndex: 0, ariaLabel: visible(name)});
  box.append(table);
  return box;
}

function cellText(value) {
  return value === null || value === undefined ? '–' : visible(value);
}

/** Save a plot as it is drawn, for a paper or a talk. */
async function saveSvg(figure) {
  const svg = await drawn.get(figure)?.view?.view.toSVG();
  if (!svg) return;
  const name = figure.querySelector('h3').textContent.replace(/[^\w.-]+/g, '_');
  save(new Blob([svg], {type: 'image/svg+xml'}), `${name}.svg`);
}

function save(blob, download) {
  const link = element('a', {href: URL.createObjectURL(blob), download});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
