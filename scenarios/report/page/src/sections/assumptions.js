// Assumptions and failures by text, each with the points it holds for.

import {html} from '../dom.js';
import {settingText} from '../data/fields.js';
import {print} from '../units.js';
import {folded} from './section.js';

// Points as "8, 16 GPUs": per axis the values, where they are not all of the axis.
function pointsText(rows, points) {
  if (rows.length === points.rows.length) return 'all points';
  const parts = points.axes.map((axis) => {
    const there = new Set(rows.map((row) => row[axis.name]));
    const values = axis.values.filter((value) => there.has(value));
    if (values.length === axis.values.length || values.length === 0) return null;
    return settingText(axis.name, values.map((value) => print(axis.kind, value)).join(', '));
  }).filter(Boolean);
  return parts.join('; ') || `${print('count', rows.length)} points`;
}

// A text for each, the most frequent first, with the points that it holds for.
function grouped(title, points, textsOf) {
  const byText = new Map();
  for (const row of points.rows) {
    for (const text of textsOf(row)) {
      if (!byText.has(text)) byText.set(text, []);
      byText.get(text).push(row);
    }
  }
  if (byText.size === 0) return null;
  const groups = [...byText].sort((a, b) => b[1].length - a[1].length);
  return folded(`${title} (${print('count', byText.size)})`, html('ul', {class: 'assumptions'},
      groups.map(([text, rows]) => html('li', {}, text, ' ',
          html('span', {class: 'where'}, pointsText(rows, points))))));
}

export function assumptions(points) {
  return grouped('Assumptions', points, (row) => row.assumed ?? []);
}

export function failures(points) {
  return grouped('Why points have no result', points, (row) => (row.failure ? [row.failure] : []));
}

export function assumptionList(texts) {
  return html('ul', {class: 'assumptions'}, texts.map((text) => html('li', {}, text)));
}
