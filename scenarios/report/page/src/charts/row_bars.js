// Horizontal bars between two values, a row each, with its name on the left and its value behind the bar.

import {fitted, svg, textWidth} from '../dom.js';
import {bottomAxis, roundTicks, scaleOver, thinned} from './axes.js';
import {bar} from './hatching.js';
import {legend} from './legend.js';

const ROW = 24;

function drawRow(root, row, {x, top, left}) {
  const [from, to] = [x(Math.min(row.from, row.to)), x(Math.max(row.from, row.to))];
  const size = Math.max(1, to - from);
  const middle = top + ROW / 2;
  root.append(...bar(root, row.fill, {x: from, y: top + 4, width: size, height: ROW - 8}),
      svg('text', {x: left - 8, y: middle + 4, 'text-anchor': 'end'}, fitted(row.label, left - 10)),
      svg('text', {x: to + 6, y: middle + 4, class: 'tick'}, row.text));
  return {x: to, y: middle, reach: [Infinity, ROW / 2], box: [from - 2, top + 2, size + 4, ROW - 4], lines: row.lines};
}

// rows: [{label, from, to, fill, text, lines}]; `entries` as of legend(). Ticks are printed by `labelOf`.
export function rowBars({root, width, rows, entries, labelOf, title}) {
  const top = legend(root, entries, width) + 8;
  const left = Math.min(width / 3, Math.max(...rows.map((row) => textWidth(row.label))) + 14);
  const room = Math.max(...rows.map((row) => textWidth(row.text))) + 12;
  const x = scaleOver(rows.flatMap((row) => [row.from, row.to]), [left, width - room], {fromZero: true, log: false});
  const bottom = top + rows.length * ROW + 4;
  const ticks = thinned(roundTicks(x, 'number', Math.max(3, width / 120)), x, labelOf);
  bottomAxis({root, scale: x, ticks, labelOf, y: bottom, title, width: width - 8});
  root.append(svg('line', {x1: x(0), x2: x(0), y1: top, y2: bottom, class: 'zero'}));
  return {height: bottom + 42, targets: rows.map((row, index) => drawRow(root, row, {x, top: top + index * ROW, left}))};
}
