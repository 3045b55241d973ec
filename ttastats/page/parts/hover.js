/* What is behind a mark? A box beside the pointer, of text alone. */

const hover = element('div', {id: 'hover', role: 'tooltip', hidden: true});
document.body.append(hover);

/** Show what Vega tells of a mark; the texts are data and never markup. */
function tell(handler, event, item, value) {
  hover.hidden = value === null || value === undefined || value === '';
  if (hover.hidden) return;
  hover.replaceChildren(told(value));
  place(event.clientX, event.clientY);
}

function told(value) {
  if (typeof value !== 'object') return element('p', {textContent: visible(value)});
  const lines = Object.entries(value)
    .filter(([, text]) => text !== null && text !== undefined && text !== '')
    .map(([name, text]) => element('tr', {},
      element('th', {scope: 'row', textContent: visible(name)}),
      element('td', {textContent: visible(text)})));
  return element('table', {}, ...lines);
}

/** Put the box beside the pointer where it fits the window. */
function place(x, y) {
  const {width, height} = hover.getBoundingClientRect();
  const beside = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  const below = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
  hover.style.left = `${Math.max(4, beside)}px`;
  hover.style.top = `${Math.max(4, below)}px`;
}

addEventListener('scroll', () => { hover.hidden = true; }, {passive: true});
addEventListener('keydown', (event) => { if (event.key === 'Escape') hover.hidden = true; });
