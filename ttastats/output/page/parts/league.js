/* Which leagues are shown, and which of their entries are the reader's own? */

const leagues = [...document.querySelectorAll('.league')].map((box) => ({
  box, name: box.dataset.league, size: box.dataset.size, round: Number(box.dataset.round), isFirst: box.open,
  rows: [...box.querySelectorAll('tbody tr')].map((row) => ({
    row,
    runs: row.dataset.of.split(' ').filter(Boolean).map((place) => combinations[place]),
    rank: row.cells[0].textContent,
  })),
}));
const firstLeague = leagues.find((one) => one.isFirst);
const asked = {pin: ''}; // what the reader marks; what is chosen stands in `chosen`
let listed = ''; // the leagues in the list, by number

/** Give the leagues of which the choice leaves an entry; of several benchmarks, one of each. */
function leftLeagues() {
  const left = leagues.filter(({rows}) => rows.some(({runs}) => runs.some(isChosen)));
  const best = new Map();
  for (const one of left) {
    const {benchmark} = one.rows[0].runs[0] ?? {};
    if (!best.has(benchmark) || better(one, best.get(benchmark))) best.set(benchmark, one);
  }
  return best.size > 1 ? [...best.values()] : left;
}

/** Of two leagues, is this the one to read first: of a later round, or of more entries left? */
function better(one, other) {
  if (one === firstLeague || other === firstLeague) return one === firstLeague;
  const entries = ({rows}) => rows.filter(({runs}) => runs.some(isChosen)).length;
  return (one.round - other.round || entries(one) - entries(other)) > 0;
}

/** Give the test of a combination of names: they hold all words that are looked for, or are them. */
function ownTest() {
  const text = asked.pin.trim().toLowerCase();
  if (!text) return () => false;
  const namesOf = ({submitter, system, entry}) => [submitter, system, entry].map((name) => (name ? label(name).toLowerCase() : ''));
  if (combinations.some((one) => namesOf(one).includes(text))) return (one) => namesOf(one).includes(text);
  const words = text.split(/\s+/);
  return (one) => words.every((word) => namesOf(one).join(' ').includes(word));
}

/** Remember which entries are the reader's own: plots and tables know these, and no submitter. */
function findOwn() {
  own = new Set(combinations.filter(ownTest()).map(nameOf));
}

function nameOf({entry, system}) {
  return label(entry ?? system);
}

let own = new Set();

function isOwn(row) {
  return own.size > 0 && own.has(nameOf(row));
}

/** Show the leagues that the choice leaves, the first of them open, and mark the reader's own. */
function showLeagues() {
  if (!leagues.length) return;
  findOwn();
  const left = leftLeagues();
  const first = left.reduce((one, other) => (better(other, one) ? other : one), left[0]);
  const before = listed;
  listed = left.map((one) => leagues.indexOf(one)).join(' ');
  for (const one of leagues) {
    one.box.hidden = !left.includes(one);
    if (listed !== before) one.box.open = one === first;
    for (const {row, runs} of one.rows) {
      row.hidden = !runs.some(isChosen);
      row.classList.toggle('mine', runs.some(isOwn));
    }
  }
  for (const {titles, bodies} of tables) {
    const column = Math.max(titles.indexOf('entry'), titles.indexOf('system'));
    for (const body of bodies) body.classList.toggle('mine', own.has(body.rows[0].cells[column]?.textContent));
  }
  tellMine();
}

/** Say which ranks the reader's own entries have, each league a way to it. */
function tellMine() {
  const found = leagues
    .map((one) => ({one, ranks: one.rows.filter(({runs}) => runs.some(isOwn)).map(({rank}) => rank)}))
    .filter(({ranks}) => ranks.length);
  const links = found.flatMap(({one, ranks}, place) => {
    const words = `${visible(one.name)}${one.size ? ` on ${one.size}` : ''}: ${ranks.join(', ')} of ${one.rows.length}`;
    const button = element('button', {type: 'button', textContent: words});
    button.addEventListener('click', () => goTo(one));
    return place ? [' · ', button] : [button];
  });
  const said = asked.pin && (found.length ? 'Ranks of the marked: ' : `No entry of “${visible(asked.pin)}”.`);
  document.getElementById('mine').replaceChildren(said, ...links);
}

/** Choose the benchmark and the size of a league, and open it. */
function goTo(one) {
  const row = one.rows[0].runs[0];
  for (const [name, values] of chosen) {
    values.clear();
    if (['benchmark', 'accelerators'].includes(name)) values.add(label(row[name]));
  }
  show();
  one.box.open = true;
  one.box.scrollIntoView({block: 'nearest'});
}

function mark(text) {
  asked.pin = text;
  show();
}

/** Build the field of one's own: what is typed, or the name that is clicked, is marked. */
function ownField() {
  const pin = element('input', {type: 'search', name: 'pin', placeholder: 'Search submitter or system'});
  pin.addEventListener('input', soon(() => mark(pin.value)));
  for (const {row} of leagues.flatMap(({rows}) => rows)) {
    const cell = row.querySelector('.e');
    cell.addEventListener('click', () => {
      const name = cell.title || cell.querySelector('b').textContent;
      mark(asked.pin === name ? '' : name);
    });
  }
  return {box: element('label', {}, 'Mark your own', pin), fill: () => { if (document.activeElement !== pin) pin.value = asked.pin; }};
}

const OWN = 'marked';
const OTHERS = 'others';

/** Give a chart in which the reader's own rows have a colour and all others none; the rows change. */
function withOwn(chart, tables) {
  const rows = Object.values(tables).flat().filter((row) => 'colour' in row);
  if (!rows.some(isOwn)) return chart;
  for (const row of rows) row.colour = isOwn(row) ? OWN : OTHERS;
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--mine').trim();
  const grey = held.themes.light.legend.symbolBaseFillColor;
  const ranges = {color: [colour, grey], shape: ['circle', 'circle'], strokeDash: [[1, 0], [1, 0]]};
  return JSON.parse(JSON.stringify(chart), (key, value) => {
    if (!(key in ranges) || !['colour', 'series'].includes(value?.field) || !value.scale) return value;
    return {...value, field: 'colour', scale: {domain: [OWN, OTHERS], range: ranges[key]}};
  });
}

/** Say of a plot what the reader's mark does to its colours. */
function ownWords(tables) {
  const rows = Object.values(tables).flat().filter((row) => 'colour' in row);
  if (!own.size || !rows.length) return '';
  return rows.some((row) => row.colour === OWN)
    ? 'What is marked is in colour, all others are grey.' : 'Nothing that is marked is in this plot.';
}
