/* How are the tables of numbers sorted and narrowed? Each row is a tbody, with its details. */

const tables = [...document.querySelectorAll('table.report')].map((table) => ({
  table,
  titles: [...table.tHead.rows[0].cells].map((cell) => cell.textContent),
  bodies: [...table.tBodies],
}));

const OVERALL = 'geo-mean of '; // how the row over all benchmarks begins

/** Hide the rows that were not chosen, and what is a mean over some that were not. */
function narrowTables(keep) {
  for (const {titles, bodies} of tables) {
    const keys = pageData.filters.filter((name) => titles.includes(name));
    for (const body of bodies) {
      const cells = body.rows[0].cells;
      const row = Object.fromEntries(keys.map((name) => [name, cells[titles.indexOf(name)].textContent]));
      const overall = cells[0].textContent.startsWith(OVERALL);
      body.hidden = !keep(row) || (overall && isNarrowed());
    }
  }
}

function sortable({table, bodies}) {
  if (bodies.length < 2) return;
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    if (!cell.textContent) return; // a button needs a name
    const button = element('button', {type: 'button', textContent: cell.textContent});
    cell.replaceChildren(button);
    button.addEventListener('click', () => {
      const next = {none: 'ascending', ascending: 'descending', descending: 'none'};
      const order = next[cell.ariaSort ?? 'none'];
      for (const header of table.tHead.rows[0].cells) header.ariaSort = null;
      if (order !== 'none') cell.ariaSort = order;
      table.append(...sortRows(bodies, column, order));
    });
  });
}

/** Give rows in order; what is unknown comes last either way, and equal rows stay as they were. */
function sortRows(bodies, column, order) {
  if (order === 'none') return bodies;
  const sign = order === 'ascending' ? 1 : -1;
  return [...bodies].sort((first, second) => {
    const [a, b] = [first, second].map((body) => sortKey(body.rows[0].cells[column]));
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === 'number' && typeof b === 'number'
      ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true}));
  });
}

function sortKey(cell) {
  const {value} = cell.dataset;
  if (value === undefined) return cell.textContent || null;
  return value === '' ? null : Number(value.replace('inf', 'Infinity'));
}
