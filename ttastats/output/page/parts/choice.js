/* Which rows has the reader chosen? Nothing chosen of a column means all of it. */

const MOST_OPTIONS = 100; // more are found by searching
const FORMS = {benchmark: 'benchmarks', system: 'systems', entry: 'entries'};

const combinations = rowsOf(held.choices, () => true);
const chosen = new Map(held.filters.map((name) => [name, new Set()]));

/** Give the runs behind each value of a column. */
function optionsOf(name, rows) {
  const runs = new Map();
  for (const row of rows) runs.set(label(row[name]), (runs.get(label(row[name])) ?? 0) + row.runs);
  return runs;
}

const options = new Map(held.filters.map((name) => [name, optionsOf(name, combinations)]));

function isChosen(row) {
  return held.filters.every((name) => !chosen.get(name).size || chosen.get(name).has(label(row[name])));
}

/** Give what the choice leaves: the combinations, and the values of each column. */
function left() {
  const rows = combinations.filter(isChosen);
  return {rows, values: new Map(held.filters.map((name) => [name, optionsOf(name, rows)]))};
}

/** Give the test of a row: no value it has is one that was not chosen. */
function keeper(values) {
  return (row) => held.filters.every((name) => {
    if (!(name in row)) return true;
    const value = label(row[name]);
    return values.get(name).has(value) || !options.get(name).has(value);
  });
}

function isNarrowed() {
  return [...chosen.values()].some((values) => values.size);
}

/** Say how much is shown. */
function account({rows, values}) {
  if (!isNarrowed()) return '';
  const parts = held.filters
    .filter((name) => name in FORMS && options.get(name).size > 1)
    .map((name) => {
      const all = options.get(name).size;
      return `${values.get(name).size.toLocaleString('en')} of ${counted(all, name, FORMS[name] ?? name)}`;
    });
  const runs = (some) => some.reduce((sum, row) => sum + row.runs, 0);
  const total = `${runs(rows).toLocaleString('en')} of ${counted(runs(combinations), 'run', 'runs')}`;
  return `Showing ${[...parts.reverse(), total].join(', ')}. Filters only hide rows; statistics are not recomputed: `
    + 'verdicts, notes and captions describe all runs.';
}

/** Build the lists to choose from; `changed` is called after each choice, `fill` shows it. */
function choicePanel(form, changed) {
  const lists = held.filters.filter((name) => options.get(name).size > 1)
    .map((name) => choiceList(name, changed));
  const reset = element('button', {type: 'reset', textContent: 'Show all'});
  const fill = () => { for (const list of lists) list.fill(''); };
  form.append(...lists.map((list) => list.box), reset);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', () => {
    for (const values of chosen.values()) values.clear();
    fill();
    changed();
  });
  return {useful: lists.length > 0, fill};
}

function choiceList(name, changed) {
  const all = options.get(name);
  const list = element('ul');
  const search = element('input', {
    type: 'search', placeholder: 'Search', hidden: all.size <= 8, ariaLabel: `Search ${FORMS[name] ?? name}`,
  });
  const fill = (text) => list.replaceChildren(...optionItems(name, text, changed));
  search.addEventListener('input', () => fill(search.value));
  fill('');
  const legend = element('legend', {textContent: `${FORMS[name] ?? name} (${all.size.toLocaleString('en')})`});
  return {box: element('fieldset', {}, legend, search, list), fill};
}

function optionItems(name, text, changed) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...options.get(name)].filter(([value]) =>
    words.every((word) => value.toLowerCase().includes(word)));
  const ticked = found.filter(([value]) => chosen.get(name).has(value));
  const others = found.filter(([value]) => !chosen.get(name).has(value));
  const shown = [...ticked, ...others.slice(0, MOST_OPTIONS)];
  const items = shown.map(([value, runs]) => optionItem(name, value, runs, changed));
  const hidden = found.length - shown.length;
  if (hidden > 0) items.push(element('li', {textContent: `${hidden.toLocaleString('en')} more: search for them`}));
  if (!found.length) items.push(element('li', {textContent: 'none found'}));
  return items;
}

function optionItem(name, value, runs, changed) {
  const box = element('input', {type: 'checkbox', checked: chosen.get(name).has(value)});
  box.addEventListener('change', () => {
    if (box.checked) chosen.get(name).add(value);
    else chosen.get(name).delete(value);
    changed();
  });
  const words = element('span', {textContent: value});
  const count = element('small', {textContent: counted(runs, 'run', 'runs')});
  return element('li', {}, element('label', {}, box, words, count));
}
