/* Which league is shown, and which of its entries is the reader's own? */

const leagues = [...document.querySelectorAll('.league')].map((box) => ({
  box, name: box.dataset.league, size: box.dataset.size, isFirst: box.open,
  rows: [...box.querySelectorAll('tbody tr')].map((row) => ({
    row,
    runs: row.dataset.of.split(' ').filter(Boolean).map((place) => combinations[place]),
    rank: row.cells[0].textContent,
  })),
}));
const ALL_SIZES = 'all';
const firstLeague = leagues.find((one) => one.isFirst);
const asked = {league: '', size: '', pin: ''}; // each empty where it is what a reader meets at first

/** Give the leagues of which the filter leaves an entry: no other can be asked for. */
function openLeagues() {
  return leagues.filter(({rows}) => rows.some(({runs}) => runs.some(isChosen)));
}

/** Give the league asked for, or the largest of the benchmark asked for, of those that are open. */
function askedLeague(open) {
  const named = (name) => open.filter((one) => one.name === name);
  const mine = [asked.league, firstLeague.name, open[0]?.name].map(named).find((some) => some.length) ?? [];
  const most = (one, other) => (other.rows.length > one.rows.length ? other : one);
  const first = !asked.league && mine.includes(firstLeague) ? firstLeague : undefined;
  return mine.find((one) => one.size === asked.size) ?? first ?? mine.reduce(most, mine[0]);
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

function showLeague() {
  if (!leagues.length) return;
  findOwn();
  const open = openLeagues();
  const now = askedLeague(open);
  const every = asked.size === ALL_SIZES;
  for (const one of leagues) {
    const shown = open.includes(one) && (every ? one.name === now.name : one === now);
    one.box.hidden = !shown;
    one.box.open = shown;
    for (const {row, runs} of one.rows) {
      row.hidden = !runs.some(isChosen);
      row.classList.toggle('mine', runs.some(isOwn));
    }
  }
  for (const {titles, bodies} of tables) {
    const column = Math.max(titles.indexOf('entry'), titles.indexOf('system'));
    for (const body of bodies) body.classList.toggle('mine', own.has(body.rows[0].cells[column]?.textContent));
  }
  fillForm(open, now, every);
  tellMine();
}

/** Offer what the filter leaves, and select what is shown. */
function fillForm(open, now, every) {
  const form = document.getElementById('ask');
  const names = [...new Set(open.map((one) => one.name))];
  form.elements.league.replaceChildren(...names.map((name) => element('option', {value: name, textContent: visible(name)})));
  form.elements.league.parentElement.hidden = new Set(leagues.map((one) => one.name)).size < 2;
  const sizes = open.filter((one) => one.name === now?.name);
  const options = sizes.map((one) => element('option', {
    value: one.size, textContent: `${one.size || 'unknown'} (${counted(one.rows.length, 'entry', 'entries')})`,
  }));
  if (sizes.length > 1) options.push(element('option', {value: ALL_SIZES, textContent: 'all sizes'}));
  form.elements.size.replaceChildren(...options);
  form.elements.size.parentElement.hidden = sizes.length < 2;
  form.elements.size.value = every ? ALL_SIZES : now?.size ?? '';
  form.elements.league.value = now?.name ?? '';
  form.elements.pin.value = asked.pin;
}

/** Say which ranks the reader's own entries have, each league a way to it. */
function tellMine() {
  const found = leagues
    .map((one) => ({one, ranks: one.rows.filter(({runs}) => runs.some(isOwn)).map(({rank}) => rank)}))
    .filter(({ranks}) => ranks.length);
  const links = found.flatMap(({one, ranks}, place) => {
    const words = `${visible(one.name)}${one.size ? ` on ${one.size}` : ''}: ${ranks.join(', ')} of ${one.rows.length}`;
    const button = element('button', {type: 'button', textContent: words});
    button.addEventListener('click', () => ask({league: one.name, size: one.size}));
    return place ? [' · ', button] : [button];
  });
  const said = asked.pin && (found.length ? 'Ranks of the marked: ' : `No entry of “${visible(asked.pin)}”.`);
  document.getElementById('mine').replaceChildren(said, ...links);
}

function ask(change) {
  Object.assign(asked, change);
  show();
}

/** Build what asks for a league and for one's own system. */
function leagueForm() {
  const form = document.getElementById('ask');
  if (!form) return;
  const league = element('select', {name: 'league', ariaLabel: 'Benchmark'});
  const size = element('select', {name: 'size', ariaLabel: 'Accelerators'});
  const pin = element('input', {type: 'search', name: 'pin', placeholder: 'Search submitter or system'});
  form.append(
    element('label', {}, 'Benchmark', league),
    element('label', {}, 'Accelerators', size),
    element('label', {}, 'Mark your own', pin),
  );
  league.addEventListener('change', () => ask({league: league.value, size: ''}));
  size.addEventListener('change', () => ask({league: league.value, size: size.value}));
  pin.addEventListener('input', soon(() => ask({pin: pin.value})));
  form.addEventListener('submit', (event) => event.preventDefault());
  for (const {rows} of leagues) {
    for (const {row} of rows) {
      row.querySelector('.e').addEventListener('click', () => {
        const name = row.querySelector('.e').title || row.querySelector('b').textContent;
        ask({pin: asked.pin === name ? '' : name});
      });
    }
  }
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
