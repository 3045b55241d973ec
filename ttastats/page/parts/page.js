/* What happens when the page opens, and when the reader chooses. */

function show() {
  const rest = left();
  keeps = keeper(rest.values);
  narrowTables(keeps);
  for (const part of document.querySelectorAll('[data-benchmark]')) {
    part.hidden = !keeps({benchmark: part.dataset.benchmark});
  }
  const verdicts = [...document.querySelectorAll('.verdict')];
  document.getElementById('no-verdict').hidden = verdicts.some((one) => !one.hidden) || !verdicts.length;
  const status = document.getElementById('shown');
  status.textContent = account(rest);
  redraw();
  for (const figure of figures) fillRows(figure, figure.querySelector('details'));
}

/** Several ticks in a row are one change of the pictures. */
function soon(action) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(action, 80);
  };
}

function schemeButton() {
  const button = document.getElementById('scheme');
  const name = () => { button.textContent = scheme() === 'dark' ? 'Light' : 'Dark'; };
  button.addEventListener('click', () => {
    document.documentElement.dataset.scheme = scheme() === 'dark' ? 'light' : 'dark';
    name();
    redraw();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', name);
  name();
}

/** Beside the text the filters stand open; above it they would hide it. */
function filterBox(useful) {
  const box = document.getElementById('filters');
  const wide = matchMedia('(min-width: 70rem)');
  box.hidden = !useful;
  box.open = wide.matches;
  wide.addEventListener('change', () => { box.open = wide.matches; });
}

for (const part of document.querySelectorAll('.scripted')) part.hidden = false;
document.documentElement.classList.add('live');
filterBox(choicePanel(document.querySelector('#filters form'), soon(show)));
tables.forEach(sortable);
figures.forEach(addTools);
schemeButton();
watch();
