/* Which leagues are shown, and which of their entries are the reader's own? */

const leagues = [...document.querySelectorAll('.league')].map((box) => ({
  box, name: box.dataset.league, size: box.dataset.size, round: Number(box.dataset.round), isFirst: box.open,
  rows: [...box.querySelectorAll('tbody tr')].map((row) => ({
    row,
    runs: row.dataset.of.split(' ').filter(Boolean).map((index) => combinations[index]),
    rank: row.cells[0].textContent,
  })),
}));
const firstLeague = leagues.find((league) => league.isFirst);
const query = {pin: ''}; // the text that the reader marks; choices stand in `selection`
let leagueNumbers = ''; // the leagues in the list, by number

/** Give the leagues of which the choice leaves an entry; of several benchmarks, one of each. */
function selectedLeagues() {
  const matches = leagues.filter(({rows}) => rows.some(({runs}) => runs.some(isChosen)));
  const best = new Map();
  for (const league of matches) {
    const {benchmark} = league.rows[0].runs[0] ?? {};
    if (!best.has(benchmark) || precedes(league, best.get(benchmark))) best.set(benchmark, league);
  }
  return best.size > 1 ? [...best.values()] : matches;
}

/** Of two leagues, is this the one to read first: of a later round, or of more entries left? */
function precedes(league, other) {
  if (league === firstLeague || other === firstLeague) return league === firstLeague;
  const entries = ({rows}) => rows.filter(({runs}) => runs.some(isChosen)).length;
  return (league.round - other.round || entries(league) - entries(other)) > 0;
}

/** Give the test of a combination of names: they hold all words that are looked for, or are them. */
function ownTest() {
  const text = query.pin.trim().toLowerCase();
  if (!text) return () => false;
  const namesOf = ({submitter, system, entry}) => [submitter, system, entry].map((name) => (name ? label(name).toLowerCase() : ''));
  if (combinations.some((row) => namesOf(row).includes(text))) return (row) => namesOf(row).includes(text);
  const words = text.split(/\s+/);
  return (row) => words.every((word) => namesOf(row).join(' ').includes(word));
}

/** Remember which entries are the reader's own: plots and tables know these, and no submitter. */
function findOwn() {
  ownNames = new Set(combinations.filter(ownTest()).map(nameOf));
}

function nameOf({entry, system}) {
  return label(entry ?? system);
}

let ownNames = new Set();

function isOwn(row) {
  return ownNames.size > 0 && ownNames.has(nameOf(row));
}

/** Show the leagues that the choice leaves, the first of them open, and mark the reader's own. */
function showLeagues() {
  if (!leagues.length) return;
  findOwn();
  const matches = selectedLeagues();
  const first = matches.reduce((best, league) => (precedes(league, best) ? league : best), matches[0]);
  const former = leagueNumbers;
  leagueNumbers = matches.map((league) => leagues.indexOf(league)).join(' ');
  for (const league of leagues) {
    league.box.hidden = !matches.includes(league);
    if (leagueNumbers !== former) league.box.open = league === first;
    for (const {row, runs} of league.rows) {
      row.hidden = !runs.some(isChosen);
      row.classList.toggle('mine', runs.some(isOwn));
    }
  }
  for (const {titles, bodies} of tables) {
    const column = Math.max(titles.indexOf('entry'), titles.indexOf('system'));
    for (const body of bodies) body.classList.toggle('mine', ownNames.has(body.rows[0].cells[column]?.textContent));
  }
  showOwnRanks();
}

/** Say which ranks the reader's own entries have, each league a way to it. */
function showOwnRanks() {
  const ranked = leagues
    .map((league) => ({league, ranks: league.rows.filter(({runs}) => runs.some(isOwn)).map(({rank}) => rank)}))
    .filter(({ranks}) => ranks.length);
  const links = ranked.flatMap(({league, ranks}, index) => {
    const words = `${visible(league.name)}${league.size ? ` on ${league.size}` : ''}: ${ranks.join(', ')} of ${league.rows.length}`;
    const button = element('button', {type: 'button', textContent: words});
    button.addEventListener('click', () => goTo(league));
    return index ? [' · ', button] : [button];
  });
  const message = query.pin && (ranked.length ? 'Ranks of the marked: ' : `No entry of “${visible(query.pin)}”.`);
  document.getElementById('mine').replaceChildren(message, ...links);
}

/** Choose the benchmark and the size of a league, and open it. */
function goTo(league) {
  const row = league.rows[0].runs[0];
  for (const [name, values] of selection) {
    values.clear();
    if (['benchmark', 'accelerators'].includes(name)) values.add(label(row[name]));
  }
  show();
  league.box.open = true;
  league.box.scrollIntoView({block: 'nearest'});
}

function mark(text) {
  query.pin = text;
  show();
}

/** Build the field of one's own: what is typed, or the name that is clicked, is marked. */
function ownField() {
  const pin = element('input', {type: 'search', name: 'pin', placeholder: 'Search submitter or system'});
  pin.addEventListener('input', debounce(() => mark(pin.value)));
  for (const {row} of leagues.flatMap(({rows}) => rows)) {
    const cell = row.querySelector('.e');
    cell.addEventListener('click', () => {
      const name = cell.title || cell.querySelector('b').textContent;
      mark(query.pin === name ? '' : name);
    });
  }
  return {box: element('label', {}, 'Mark your own', pin), fill: () => { if (document.activeElement !== pin) pin.value = query.pin; }};
}

const OWN = 'marked';
const OTHERS = 'others';

/** Give a chart in which the reader's own rows have a colour and all others none; the rows change. */
function withOwn(chart, tables) {
  const rows = Object.values(tables).flat().filter((row) => 'colour' in row);
  if (!rows.some(isOwn)) return chart;
  for (const row of rows) row.colour = isOwn(row) ? OWN : OTHERS;
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--mine').trim();
  const grey = pageData.themes.light.legend.symbolBaseFillColor;
  const ranges = {color: [colour, grey], shape: ['circle', 'circle'], strokeDash: [[1, 0], [1, 0]]};
  return JSON.parse(JSON.stringify(chart), (key, value) => {
    if (!(key in ranges) || !['colour', 'series'].includes(value?.field) || !value.scale) return value;
    return {...value, field: 'colour', scale: {domain: [OWN, OTHERS], range: ranges[key]}};
  });
}

/** Say of a plot what the reader's mark does to its colours. */
function ownWords(tables) {
  const rows = Object.values(tables).flat().filter((row) => 'colour' in row);
  if (!ownNames.size || !rows.length) return '';
  return rows.some((row) => row.colour === OWN)
    ? 'What is marked is in colour, all others are grey.' : 'Nothing that is marked is in this plot.';
}
