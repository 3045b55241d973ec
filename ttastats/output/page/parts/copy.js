/* How does the figure become an image? With the colours and letters that the reader sees. */

const COPIED = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-linecap',
  'font-family', 'font-size', 'font-weight', 'font-variant-numeric'];
const SHARPNESS = 2; // dots of the image to a pixel of the figure

/** Give a figure as SVG text that needs no style from outside. */
function standaloneSvg(svg) {
  const copy = svg.cloneNode(true);
  const parts = [...svg.querySelectorAll('*')];
  [...copy.querySelectorAll('*')].forEach((part, index) => {
    const style = getComputedStyle(parts[index]);
    for (const name of COPIED) part.style.setProperty(name, style.getPropertyValue(name));
  });
  const {width, height} = svg.viewBox.baseVal;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  return new XMLSerializer().serializeToString(copy);
}

async function imageOf(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standaloneSvg(svg))}`;
  await image.decode();
  const canvas = element('canvas', {width: SHARPNESS * image.width, height: SHARPNESS * image.height});
  const context = canvas.getContext('2d');
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, 'image/png'); });
}

/** Copy the figure that is shown, or save it where the clipboard is closed. */
async function copyFigure(button) {
  const svg = [...document.querySelectorAll('#figure svg')].find((image) => image.getBoundingClientRect().width);
  const image = await imageOf(svg);
  try {
    await navigator.clipboard.write([new ClipboardItem({'image/png': image})]);
    button.textContent = 'Copied';
  } catch {
    save(image, 'comparison.png');
  }
}
