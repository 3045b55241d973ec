/* What is behind a plot? Its rows as tables, for who cannot see it or wants to count. */

const MOST_SHOWN = 200;
/* Columns that only place and colour marks, and what readers call the others. */
const FOR_DRAWING = new Set(['colour', 'order', 'lane']);
const READ_AS = {series: 'shown as', tta_seconds: 'time to target (seconds)'};

/** Add to a figure what opens its rows, and what saves it. */
function addTools(figure) {
  const box = element('div', {className: 'rows'});
  const details = element('details', {}, element('summary', {textContent: 'Data'}), box);
  const save = element('button', {type: 'button', textContent: 'Save as SVG'});
  details.addEventListener('toggle', () => fillRows(figure, details));
  save.addEventListener('click', () => saveSvg(figure));
  figure.append(element('div', {className: 'tools'}, details, save));
}

async function fillRows(figure, details) {
  const tables = details.open ? Object.entries(tablesOf((await load()).plots[figure.dataset.plot])) : [];
  details.querySelector('.rows').replaceChildren(...tables.map(([name, rows]) => rowsTable(name, rows)));
}

function rowsTable(title, rows) {
  const name = title.replace(/:\s*$/, '');
  const names = Object.keys(rows[0] ?? {}).filter((name) => !FOR_DRAWING.has(name));
  const head = element('tr', {}, ...names.map((text) => element('th', {scope: 'col', textContent: heading(text)})));
  const body = rows.slice(0, MOST_SHOWN).map((row) =>
    element('tr', {}, ...names.map((column) => element('td', {textContent: cellText(row[column])}))));
  const limit = rows.length > MOST_SHOWN ? `, the first ${MOST_SHOWN}` : '';
  const caption = element('caption', {textContent: `${visible(name)}: ${countText(rows.length, 'row', 'rows')}${limit}`});
  const table = element('table', {}, caption, element('thead', {}, head), element('tbody', {}, ...body));
  const box = element('div', {className: 'table-box', role: 'group', tabIndex: 0, ariaLabel: visible(name)});
  box.append(table);
  return box;
}

/** Give the words above a column: `wall_seconds` is `wall (seconds)`. */
function heading(name) {
  return visible(READ_AS[name] ?? name.replace(/_seconds$/, ' (seconds)').replaceAll('_', ' '));
}

/** Give a value as a reader counts: whole numbers whole, others with five digits. */
function cellText(value) {
  if (value === null || value === undefined) return '–';
  if (typeof value !== 'number' || Number.isInteger(value)) return visible(value);
  return String(Number(value.toPrecision(5)));
}

/** Save a plot as it is drawn, for a paper or a talk. */
async function saveSvg(figure) {
  const svg = await drawings.get(figure)?.view?.view.toSVG();
  if (!svg) return;
  const name = figure.querySelector('h3').textContent.replace(/[^\w.-]+/g, '_');
  save(new Blob([svg], {type: 'image/svg+xml'}), `${name}.svg`);
}

function save(blob, download) {
  const link = element('a', {href: URL.createObjectURL(blob), download});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
