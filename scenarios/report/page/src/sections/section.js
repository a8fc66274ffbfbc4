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

// A table that is wider than the page says so, and has a shadow at each side that hides columns.
export function scrolling(label, table) {
  const box = html('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${label}, table`}, table);
  const edges = html('div', {class: 'edges'}, box);
  const hint = html('p', {class: 'caption hint', hidden: true}, 'More columns stand to the right: scroll the table sideways.');
  const look = () => {
    const left = box.scrollLeft > 1;
    const right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    edges.classList.toggle('more-left', left);
    edges.classList.toggle('more-right', right);
    hint.hidden = box.scrollWidth <= box.clientWidth + 1;
  };
  box.addEventListener('scroll', look, {passive: true});
  const size = new ResizeObserver(look);
  size.observe(box);
  size.observe(table);
  return html('div', {class: 'table'}, edges, hint);
}
