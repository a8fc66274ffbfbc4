// Tables of given columns: [label, kind, value of a row].

import {html} from '../dom.js';
import {print} from '../units.js';
import {scrolling} from './section.js';

const classOf = (kind) => (kind === 'text' ? 'text' : 'number');

// `chosen(row)` says which rows stand out.
export function plainTable(label, columns, rows, chosen = () => false) {
  const used = columns.filter(([, , value]) => rows.some((row) => (value(row) ?? '') !== ''));
  return scrolling(label, html('table', {class: 'data'},
      html('thead', {}, html('tr', {}, used.map(([name, kind]) => html('th',
          {scope: 'col', class: classOf(kind)}, name)))),
      html('tbody', {}, rows.map((row) => html('tr', {class: chosen(row) ? 'chosen' : ''},
          used.map(([, kind, value]) => dataCell(kind, value(row))))))));
}

// Words of a name stay together; only longer texts wrap.
const LONGEST_NAME = 28;

export function dataCell(kind, value) {
  const text = print(kind, value);
  const isLong = text.length > LONGEST_NAME;
  return html('td', {class: kind !== 'text' ? 'number' : isLong ? 'text' : 'text name'}, text);
}
