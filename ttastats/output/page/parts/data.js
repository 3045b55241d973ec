/* What does the page hold? Tables in columns, of which the chosen rows are made. */

if (!('DecompressionStream' in window)) return; // a browser from before 2023 shows what needs no program

const pageData = JSON.parse(document.getElementById('data').textContent);

const prefix = {1: '\\x', 2: '\\x', 3: '\\u', 4: '\\u', 5: '\\U', 6: '\\U'};
const ESCAPES = {'\n': '\\n', '\r': '\\r', '\t': '\\t'};
const lengths = {'\\x': 2, '\\u': 4, '\\U': 8};

/** Spell out what shows nothing, such as an override of the writing direction. */
function visible(text) {
  return String(text).replace(/[^\P{C} ]|[^\P{Z} ]/gu, (letter) => {
    if (letter in ESCAPES) return ESCAPES[letter];
    const digits = letter.codePointAt(0).toString(16);
    const start = prefix[digits.length];
    return start + digits.padStart(lengths[start], '0');
  });
}

/** Give the words by which a value of a key is shown and chosen. */
function label(value) {
  return value === null || value === undefined ? 'unknown' : visible(value);
}

/** Give the text of a compressed block. */
async function unpack(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
}

/** Read the plots with their tables, and run the script that draws them, the first time. */
const load = memoize(async () => {
  const [plots, vega] = await Promise.all(['plots', 'vega'].map(unpack));
  document.head.append(element('script', {textContent: vega}));
  return Object.assign(pageData, JSON.parse(plots));
});

function memoize(make) {
  const results = new Map();
  return (key) => {
    if (!results.has(key)) results.set(key, make(key));
    return results.get(key);
  };
}

/** Give the rows of a table that pass a test. They are new each time: Vega writes into them. */
function rowsOf(table, isKept) {
  const columns = Object.entries(table.columns);
  const rows = [];
  for (let index = 0; index < table.height; index += 1) {
    const row = {};
    for (const [name, values] of columns) row[name] = values[index];
    if (isKept(row)) rows.push(row);
  }
  return rows;
}

function element(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

function countText(number, singular, plural) {
  return `${number.toLocaleString('en')} ${number === 1 ? singular : plural}`;
}
