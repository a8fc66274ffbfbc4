// Tables of given columns: [label, kind, value of a row].

import {html} from '../dom.js';
import {print} from '../units.js';
import {scrolling} from './section.js';

const classOf = (kind) => (kind === 'text' ? 'text' : 'number');

// So many columns fit on paper, the first; the others are on the screen only.
const ON_PAPER = 10;

// `chosen(row)` says which rows stand out.
export function plainTable(label, columns, rows, chosen = () => false) {
  const used = columns.filter(([, , value]) => rows.some((row) => (value(row) ?? '') !== ''));
  return scrolling(label, html('table', {class: 'data'},
      html('thead', {}, html('tr', {}, used.map(([name, kind], index) => html('th',
          {scope: 'col', class: index < ON_PAPER ? classOf(kind) : `${classOf(kind)} rare`}, name)))),
      html('tbody', {}, rows.map((row) => html('tr', {class: chosen(row) ? 'chosen' : ''},
          used.map(([, kind, value], index) => dataCell(kind, value(row), index >= ON_PAPER)))))));
}

// Words of a name stay together; only longer texts wrap.
const LONGEST_NAME = 28;

export function dataCell(kind, value, isRare = false) {
  const text = print(kind, value);
  const isLong = text.length > LONGEST_NAME;
  const words = kind !== 'text' ? 'number' : isLong ? 'text' : 'text name';
  return html('td', {class: isRare ? `${words} rare` : words}, text);
}
