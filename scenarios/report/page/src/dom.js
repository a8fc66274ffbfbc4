// Elements. Every text becomes a text node: names and traces may hold anything.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined)
                     .map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

// Attributes whose value is a function are listeners: {click: () => ...}.
export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Saves a text as a file, without a request.
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  const link = html('a', {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// A file's name from a title: letters, digits and dashes.
export function fileName(title, extension) {
  const stem = title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
  return `${stem.slice(0, 80) || 'paceline'}.${extension}`;
}

const canvas = document.createElement('canvas').getContext('2d');

// Width in px of a text in the charts' font.
export function textWidth(text, size = 11) {
  canvas.font = `${size}px system-ui, sans-serif`;
  return canvas.measureText(text).width;
}

// The text, cut with an ellipsis where it is wider than `width` px.
export function fitted(text, width, size = 11) {
  if (textWidth(text, size) <= width) return text;
  let length = Math.max(1, Math.floor(text.length * width / textWidth(text, size)));
  while (length > 1 && textWidth(`${text.slice(0, length)}…`, size) > width) length -= 1;
  return `${text.slice(0, length)}…`;
}
