/* What of a view can be mailed? The choice and what is opened stand in the address, behind its #. */

const OPEN = 'open'; // beside it stand the names of columns, each with the values that are chosen, and what is marked

function isState(text) {
  return text.includes('=');
}

/** Write the view into the address; a reload or another reader finds it again. */
function keepAddress() {
  const state = new URLSearchParams();
  for (const [name, values] of selection) for (const value of values) state.append(name, value);
  for (const [name, value] of Object.entries(query)) if (value) state.append(name, value);
  for (const part of document.querySelectorAll('details.section[open], details.more[open]')) {
    if (part.id) state.append(OPEN, part.id);
  }
  const text = state.toString();
  const hash = location.hash.slice(1);
  if (text ? text !== hash : isState(hash)) history.replaceState(null, '', `#${text}`);
}

/** Open what an address names, and give what it chooses. */
function readAddress() {
  const text = location.hash.slice(1);
  if (!isState(text)) {
    reveal(text && document.getElementById(text));
    return;
  }
  const state = new URLSearchParams(text);
  for (const [name, values] of selection) {
    values.clear();
    for (const value of state.getAll(name)) if (options.get(name).has(value)) values.add(value);
  }
  for (const name of Object.keys(query)) query[name] = state.get(name) ?? '';
  for (const id of state.getAll(OPEN)) {
    const part = document.getElementById(id);
    if (part?.matches('details')) part.open = true;
  }
}

/** Open what stands around a part, and the part itself, and show it. */
function reveal(part) {
  if (!part) return;
  for (let ancestor = part; ancestor; ancestor = ancestor.parentElement) if (ancestor.matches('details')) ancestor.open = true;
  part.scrollIntoView();
}
