/* What happens when the page opens, and when the reader chooses. */

function show() {
  keepAddress();
  const selected = selectedPart();
  fillBar();
  showLeagues();
  isKept = keeper(selected.values);
  narrowTables(isKept);
  for (const part of document.querySelectorAll('[data-benchmark]')) {
    part.hidden = !isKept({benchmark: part.dataset.benchmark});
  }
  for (const row of document.querySelectorAll('#figure [data-row]')) {
    row.classList.toggle('out', !isKept({benchmark: row.dataset.row}));
  }
  const verdicts = [...document.querySelectorAll('#verdict .verdict')];
  const emptyText = document.getElementById('no-verdict');
  if (emptyText) emptyText.hidden = verdicts.some((verdict) => !verdict.hidden) || !verdicts.length;
  const status = document.getElementById('shown');
  status.textContent = countsText(selected);
  redraw();
  for (const figure of figures) fillRows(figure, figure.querySelector('details'));
}

/** Several ticks in a row are one change of the plots. */
function debounce(action) {
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

/** Follow the address, and let it follow what is opened. */
function follow() {
  const read = () => {
    readAddress();
    show();
  };
  read();
  addEventListener('hashchange', read);
  for (const part of document.querySelectorAll('details.section, details.more')) {
    part.addEventListener('toggle', () => {
      keepAddress();
      drawNew();
      load(); // printing waits for nothing
    });
  }
  // A second click on a link opens again what was closed meanwhile, though the address stays.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    const part = document.getElementById(decodeURIComponent(link.getAttribute('href').slice(1)));
    reveal(part);
    if (link.dataset.log) pointOut(part, link.dataset.log);
  });
  document.getElementById('copy')?.addEventListener('click', (event) => copyFigure(event.target));
}

for (const part of document.querySelectorAll('.scripted')) part.hidden = false;
document.documentElement.classList.add('live');
const fillBar = choiceBar(leagues.length ? [ownField()] : [], show);
tables.forEach(sortable);
figures.forEach(addTools);
schemeButton();
watch();
follow();
