// Speedup, efficiency, throughput or step against the number of GPUs.

import {figure} from '../charts/figure.js';
import {lineChart, MOST_BANDS} from '../charts/line_chart.js';
import {DISTINCT_SERIES} from '../charts/markers.js';
import {selector, Slice} from '../charts/controls.js';
import {isNumber, metricsOf} from '../data/fields.js';

const value = (row, field) => (isNumber(row[field]) ? row[field] : null);

// A row as a point of a line: {x, predicted, measured, band}.
function pointOf(row, axis, metric) {
  return {x: row[axis], predicted: value(row, metric.predicted),
    measured: value(row, metric.measured), band: metric.band?.(row) ?? null};
}

// Of more lines than can be told apart, so many, evenly spread; `left` is how many are not drawn.
function distinct(groups) {
  if (groups.length <= DISTINCT_SERIES) return {shown: groups, left: 0};
  const last = groups.length - 1;
  const shown = [...new Set(Array.from({length: DISTINCT_SERIES},
      (_, index) => Math.round(index * last / (DISTINCT_SERIES - 1))))].map((at) => groups[at]);
  return {shown, left: groups.length - shown.length};
}

export function seriesOf(slice, axis, metric) {
  const {shown, left} = distinct(slice.groups());
  const series = shown.map(({name, rows}) => ({name, rows,
    points: rows.filter((row) => isNumber(row[axis])).map((row) => pointOf(row, axis, metric))
                .sort((a, b) => a.x - b.x)})).filter(({points}) => points.length > 0);
  return {series, left};
}

function idealOf(series, metric) {
  const row = series.flatMap(({rows}) => rows)
                  .find((one) => isNumber(one.predicted_speedup) && one.predicted_speedup > 0);
  if (!metric.ideal || !row) return null;
  const xs = [...new Set(series.flatMap(({points}) => points.map((point) => point.x)))];
  return xs.sort((a, b) => a - b).map((x) => ({x, value: metric.ideal(x, row)}));
}

export function captionOf(series, left) {
  const parts = [];
  if (series.length > MOST_BANDS && series.some(({points}) => points.some((point) => point.band))) {
    parts.push('The tooltip has the 90 % intervals.');
  }
  if (left > 0) parts.push(`${left} more lines are not drawn; choose them above or see the table.`);
  return parts.join(' ');
}

export function scalingChart(points, wide) {
  const metrics = metricsOf(points.rows);
  let metric = metrics[0];
  let chart = null;
  const slice = new Slice(points, ['gpus'], () => chart.redraw());
  const choice = selector('Show', metrics.map((one) => ({value: one, label: one.label})), metric,
      (chosen) => { metric = chosen; chart.redraw(); });
  chart = figure({title: 'By number of GPUs', wide, controls: [choice, slice.box],
    draw: ({root, width}) => {
      const {series, left} = seriesOf(slice, 'gpus', metric);
      const drawn = lineChart({root, width, series, x: {label: 'GPUs', kind: 'count'},
        y: {label: metric.unit ?? metric.label, kind: metric.kind, unit: metric.unit},
        ideal: idealOf(series, metric), height: wide ? 380 : 300});
      return {...drawn, caption: captionOf(series, left)};
    }});
  return chart.element;
}
