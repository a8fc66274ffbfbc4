// A chart as an SVG file of its own: styles inlined, in light colours, on white.

import {svg} from '../dom.js';

const INLINED = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray',
  'stroke-opacity', 'opacity', 'font-size', 'font-family', 'font-weight', 'text-anchor',
  'dominant-baseline'];

function inlineStyles(from, to) {
  const style = getComputedStyle(from);
  for (const name of INLINED) to.setAttribute(name, style.getPropertyValue(name));
  to.removeAttribute('class');
  for (let i = 0; i < from.children.length; i += 1) inlineStyles(from.children[i], to.children[i]);
}

export function standaloneSvg(root, title) {
  const page = document.documentElement;
  const before = page.dataset.theme;
  page.dataset.theme = 'light';
  const copy = root.cloneNode(true);
  inlineStyles(root, copy);
  if (before === undefined) delete page.dataset.theme;
  else page.dataset.theme = before;
  copy.querySelectorAll('.mark').forEach((mark) => mark.remove());
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const {width, height} = root.viewBox.baseVal;
  copy.prepend(svg('title', {}, title), svg('rect', {width, height, fill: '#fff'}));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}
