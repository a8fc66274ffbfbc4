// A section of the page: a heading that the contents link to, and what stands below it.

import {html} from '../dom.js';

export function section(id, title, ...children) {
  return html('section', {id, 'aria-labelledby': `${id}-title`},
      html('h2', {id: `${id}-title`}, title), children);
}

// Text that is long and seldom read: closed at first, open on paper.
export function folded(title, ...children) {
  return html('details', {}, html('summary', {}, title), children);
}

export function scrolling(label, table) {
  return html('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${label}, table`}, table);
}
