// Assumptions by text, each with the points it holds for.

import {html} from '../dom.js';
import {settingText} from '../data/fields.js';
import {print} from '../units.js';
import {folded} from './section.js';

// Points as "GPUs 8, 16": per axis the values, where they are not all of the axis.
function pointsText(rows, points) {
  if (rows.length === points.rows.length) return 'all points';
  const parts = points.axes.map((axis) => {
    const values = axis.values.filter((value) => rows.some((row) => row[axis.name] === value));
    if (values.length === axis.values.length || values.length === 0) return null;
    return settingText(axis.name, values.map((value) => print(axis.kind, value)).join(', '));
  }).filter(Boolean);
  return parts.join('; ') || `${print('count', rows.length)} points`;
}

export function assumptions(points) {
  const byText = new Map();
  for (const row of points.rows) {
    for (const text of row.assumed ?? []) {
      if (!byText.has(text)) byText.set(text, []);
      byText.get(text).push(row);
    }
  }
  if (byText.size === 0) return null;
  const groups = [...byText].sort((a, b) => b[1].length - a[1].length);
  return folded(`Assumptions (${byText.size})`, html('ul', {class: 'assumptions'},
      groups.map(([text, rows]) => html('li', {}, text, ' ',
          html('span', {class: 'where'}, pointsText(rows, points))))));
}

export function assumptionList(texts) {
  return html('ul', {class: 'assumptions'}, texts.map((text) => html('li', {}, text)));
}
