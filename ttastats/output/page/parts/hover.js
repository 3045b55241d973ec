/* What is behind a mark? A box beside the pointer, of text alone; a finger opens it by a tap. */

const hover = element('div', {id: 'hover', role: 'tooltip', hidden: true});
document.body.append(hover);

const NEAR = 7; // CSS pixels from the pointer within which the nearest mark answers
const BELOW_A_FINGER = 18;
let hasTooltip = false;

/** Show what Vega tells of a mark; the texts are data and never markup. */
function showTooltip(handler, event, item, value) {
  hover.hidden = value === null || value === undefined || value === '';
  if (hover.hidden) return;
  hasTooltip = true;
  hover.replaceChildren(tooltipContent(value));
  moveTooltip(event.clientX, event.clientY);
}

function tooltipContent(value) {
  if (typeof value !== 'object') return element('p', {textContent: visible(value)});
  const lines = Object.entries(value)
    .filter(([, text]) => text !== null && text !== undefined && text !== '')
    .map(([name, text]) => element('tr', {},
      element('th', {scope: 'row', textContent: visible(name)}),
      element('td', {textContent: visible(text)})));
  return element('table', {}, ...lines);
}

/** Put the box beside the pointer where it fits the window. */
function moveTooltip(x, y) {
  const {width, height} = hover.getBoundingClientRect();
  const beside = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  const below = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
  hover.style.left = `${Math.max(4, beside)}px`;
  hover.style.top = `${Math.max(4, below)}px`;
}

/** Give the marks of a plot, with where the group begins that each lies in. */
function* marksOf(mark, x = 0, y = 0) {
  if (mark.marktype !== 'group') yield {mark, x, y};
  else {
    for (const group of mark.items) {
      for (const inner of group.items) yield* marksOf(inner, x + (group.x ?? 0), y + (group.y ?? 0));
    }
  }
}

/** Give the item with words that is nearest to a place in its plot, if one is so near. */
function nearest(root, [right, down], within) {
  const best = {item: null, far: within};
  const keep = (item, far) => { if (item.tooltip && far < best.far) Object.assign(best, {item, far}); };
  for (const {mark, x, y} of marksOf(root)) {
    const point = {x: right - x, y: down - y};
    if (mark.marktype === 'symbol') {
      for (const item of mark.items) keep(item, Math.hypot(item.x - point.x, item.y - point.y));
    } else if (mark.marktype === 'line') {
      mark.items.slice(1).forEach((end, index) => keep(end, toLine(point, mark.items[index], end)));
    }
  }
  return best.item;
}

/** Give the distance of a place to what joins two points of a line. */
function toLine(point, a, b) {
  if (a.interpolate !== 'step-after') return toSegment(point, a, b);
  const corner = {x: b.x, y: a.y};
  return Math.min(toSegment(point, a, corner), toSegment(point, corner, b));
}

function toSegment({x, y}, a, b) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const share = ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1);
  const along = Math.max(0, Math.min(1, share));
  return Math.hypot(a.x + along * dx - x, a.y + along * dy - y);
}

/** Give where in the window the marks of a plot begin. */
function originOf(view) {
  const {left, top} = view.container().firstElementChild.getBoundingClientRect();
  const [right, down] = view.origin();
  return [left + right, top + down];
}

/** Runs that the page itself draws: how far right each lies in its drawing, and its time in words. */
const strips = [...document.querySelectorAll('[data-runs]')].map((mark) => {
  const runs = mark.dataset.runs.split(';').map((text) => [parseFloat(text), text.slice(text.indexOf(' ') + 1)]);
  const words = runs.map(([, time]) => time).join(', ');
  Object.assign(mark, {role: 'img', ariaLabel: `${countText(runs.length, 'run', 'runs')}: ${words}`}).setAttribute('tabindex', 0);
  mark.addEventListener('focus', () => {
    const {left, bottom} = mark.getBoundingClientRect();
    showTooltip(null, {clientX: left, clientY: bottom}, mark, {[rowName(mark)]: words});
  });
  mark.addEventListener('blur', () => { hover.hidden = true; });
  return {mark, drawing: mark.closest('.strip, .figure'), runs};
});

function rowName(mark) {
  return (mark.closest('tr')?.querySelector('.e b') ?? mark.closest('g[transform]').querySelector('title')).textContent;
}

/** Tell of the run of a drawing that lies nearest to the pointer. */
function showRun(event, drawing, within) {
  const {left, width} = drawing.getBoundingClientRect();
  let best = {far: within};
  for (const {mark, runs} of strips.filter((strip) => strip.drawing === drawing)) {
    const {top, bottom} = mark.getBoundingClientRect();
    if (event.clientY < top - within || event.clientY > bottom + within) continue;
    for (const [share, time] of runs) {
      const far = Math.abs(left + share * width - event.clientX);
      if (far < best.far) best = {far, mark, time};
    }
  }
  if (best.mark) showTooltip(null, event, best.mark, {[rowName(best.mark)]: best.time});
}

/** Vega tells only of what lies right under the pointer, and of lines only at their points. */
function askAround(event, within) {
  if (!event.isTrusted || hasTooltip) return;
  hover.hidden = true;
  const strip = event.target.closest?.('.strip, .figure');
  if (strip) {
    showRun(event, strip, within);
    return;
  }
  const figure = event.target.closest?.('.drawing')?.parentElement;
  const view = drawings.get(figure)?.view?.view;
  if (!view) return;
  const [left, top] = originOf(view);
  const item = nearest(view.scenegraph().root, [event.clientX - left, event.clientY - top], within);
  if (item) showTooltip(null, event, item, item.tooltip);
}

/** Tell of the run with a log as if it were pointed at, as soon as its plot is drawn and in sight. */
async function pointOut(figure, log) {
  for (let wait = 0; wait < 100 && !drawings.get(figure)?.view; wait += 1) await sleep(50);
  await sleep(100); // to scroll hides what is told
  const view = drawings.get(figure)?.view?.view;
  if (!view) return;
  for (const {mark, x, y} of marksOf(view.scenegraph().root)) {
    const item = mark.marktype === 'symbol' && mark.items.find((point) => point.tooltip?.log === log);
    if (item) {
      const [left, top] = originOf(view);
      showTooltip(null, {clientX: left + x + item.x, clientY: top + y + item.y}, item, item.tooltip);
    }
  }
}

function sleep(milliseconds) {
  return new Promise((done) => { setTimeout(done, milliseconds); });
}

// Vega listens between these two.
addEventListener('pointermove', () => { hasTooltip = false; }, {capture: true});
addEventListener('pointermove', (event) => { if (event.pointerType !== 'touch') askAround(event, NEAR); });
addEventListener('click', (event) => {
  hasTooltip = false;
  askAround(event, BELOW_A_FINGER);
}, {capture: true});
addEventListener('scroll', () => { hover.hidden = true; }, {passive: true});
addEventListener('keydown', (event) => { if (event.key === 'Escape') hover.hidden = true; });
