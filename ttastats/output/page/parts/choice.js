/* Which rows has the reader chosen? Nothing chosen of a column means all of it. */

const ALL = ''; // the value of an option of a select
const FEWEST = 5; // combinations, below which all is seen at once
const FORMS = {benchmark: 'benchmarks', system: 'systems', entry: 'entries'};

const combinations = rowsOf(pageData.choices, () => true);
const selection = new Map(pageData.filters.map((name) => [name, new Set()]));

/** Give the runs behind each value of a column. */
function optionsOf(name, rows) {
  const runs = new Map();
  for (const row of rows) runs.set(label(row[name]), (runs.get(label(row[name])) ?? 0) + row.runs);
  return runs;
}

const options = new Map(pageData.filters.map((name) => [name, optionsOf(name, combinations)]));

/** Is a combination chosen by each of some columns? */
function isChosenBy(names, row) {
  return names.every((name) => !selection.get(name).size || selection.get(name).has(label(row[name])));
}

function isChosen(row) {
  return isChosenBy(pageData.filters, row);
}

/** Give the selected combinations, and the values of each column in them. */
function selectedPart() {
  const rows = combinations.filter(isChosen);
  return {rows, values: new Map(pageData.filters.map((name) => [name, optionsOf(name, rows)]))};
}

/** Give the test of a row: all its values are selected. */
function keeper(values) {
  return (row) => pageData.filters.every((name) => {
    if (!(name in row)) return true;
    const value = label(row[name]);
    return values.get(name).has(value) || !options.get(name).has(value);
  });
}

function isNarrowed() {
  return [...selection.values()].some((values) => values.size);
}

/** Say how much is shown. */
function countsText({rows, values}) {
  if (!isNarrowed()) return '';
  const parts = pageData.filters
    .filter((name) => name in FORMS && options.get(name).size > 1)
    .map((name) => {
      const total = options.get(name).size;
      return `${values.get(name).size.toLocaleString('en')} of ${countText(total, name, FORMS[name] ?? name)}`;
    });
  const runs = (sample) => sample.reduce((sum, row) => sum + row.runs, 0);
  const total = `${runs(rows).toLocaleString('en')} of ${countText(runs(combinations), 'run', 'runs')}`;
  return `Showing ${[...parts.reverse(), total].join(', ')}. Filters only hide rows; statistics are not recomputed: `
    + 'verdicts, notes and captions describe all runs.';
}

/** Build a select of the values of a column, of which others leave those that can be chosen. */
function choiceSelect(name, changed) {
  const title = name[0].toUpperCase() + name.slice(1);
  const select = element('select', {name, ariaLabel: title});
  const texts = [...options.get(name).keys()].sort((first, second) => first.localeCompare(second, 'en', {numeric: true}));
  const others = pageData.filters.filter((column) => column !== name);
  const fill = () => {
    const values = selection.get(name);
    const possible = optionsOf(name, combinations.filter((row) => isChosenBy(others, row)));
    select.replaceChildren(
      element('option', {value: ALL, textContent: `all ${texts.length.toLocaleString('en')}`}),
      ...texts.map((value, index) => element('option', {
        value: index, textContent: value, disabled: !possible.has(value), selected: values.has(value),
      })),
    );
  };
  select.addEventListener('change', () => {
    selection.set(name, new Set(select.value === ALL ? [] : [texts[select.value]]));
    changed();
  });
  return {box: element('label', {}, title, select), fill};
}

/** Fill the bar above what is shown: what to choose, more fields, and a way back to all. */
function choiceBar(fields, changed) {
  const bar = document.getElementById('bar');
  const several = pageData.controls.filter((name) => options.get(name).size > 1);
  const parts = [...several.map((name) => choiceSelect(name, changed)), ...fields];
  const reset = element('button', {type: 'reset', textContent: 'Show all'});
  bar.append(...parts.map(({box}) => box), reset);
  bar.hidden = combinations.length < FEWEST;
  bar.addEventListener('submit', (event) => event.preventDefault());
  bar.addEventListener('reset', (event) => {
    event.preventDefault(); // each field is filled by what is chosen
    for (const values of selection.values()) values.clear();
    changed();
  });
  return () => {
    for (const {fill} of parts) fill();
    reset.disabled = !isNarrowed();
  };
}
