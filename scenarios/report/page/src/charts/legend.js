// A legend above a chart, in lines as wide as the chart.

import {svg, textWidth, fitted} from '../dom.js';
import {bar} from './hatching.js';
import {DISTINCT_SERIES, marker} from './markers.js';

const LINE = 18;

// Entries: {label, kind, series, fill}; `kind` as in sample(). Returns the legend's height.
export function legend(root, entries, width, top = 0) {
  let [x, y] = [0, top + 12];
  for (const entry of entries) {
    const text = fitted(entry.label, width - 34);
    const needed = 30 + textWidth(text) + 14;
    if (x > 0 && x + needed > width + 14) [x, y] = [0, y + LINE];
    const colour = entry.series === undefined ? 'n' : entry.series % DISTINCT_SERIES;
    root.append(svg('g', {transform: `translate(${x},${y})`, class: `legend s${colour}`},
        sample(root, entry), svg('text', {x: 30, y: 4}, text)));
    x += needed;
  }
  return entries.length === 0 ? 0 : y - top + 14;
}

function sample(root, {kind, series, fill}) {
  if (kind === 'box') return bar(root, fill, {x: 6, y: -6, width: 16, height: 12});
  if (kind === 'span') return svg('rect', {x: 6, y: -6, width: 16, height: 12, class: 'span'});
  if (kind === 'band') return svg('rect', {x: 1, y: -6, width: 24, height: 12, class: 'band'});
  if (kind === 'ideal') return svg('line', {x1: 1, x2: 25, class: 'ideal'});
  if (kind === 'interval') return svg('path', {class: 'interval', d: 'M2,0H24M2,-4v8M24,-4v8'});
  if (kind === 'plan') return marker(series ?? 0, 13, 0, 'plan');
  if (kind === 'measured') return marker(series ?? 0, 13, 0, 'measured');
  return svg('g', {}, svg('line', {x1: 1, x2: 25, class: `line dash${(series ?? 0) % DISTINCT_SERIES}`}),
      marker(series ?? 0, 13, 0, 'predicted'));
}
