// Lines with interval bands, an ideal line, and measured points, over a numeric axis.

import {area, line} from 'd3-shape';
import {svg} from '../dom.js';
import {print} from '../units.js';
import {bottomAxis, labelRoom, leftAxis, roundTicks, scaleOver, spansMuch, startNear, thinned} from './axes.js';
import {legend} from './legend.js';
import {DISTINCT_SERIES, marker} from './markers.js';

// Bands of more series than this cover each other; the tooltip has their intervals.
export const MOST_BANDS = 2;

// series: [{name, points: [{x, predicted, measured, band}]}], any value null where there is none.
// x, y: {label, kind}; `ideal`: [{x, value}] or null. Without bands, and `isNear`, the vertical axis starts near the
// values where they differ little; `start` is where, and 0 otherwise.
export function lineChart({root, width, series, x, y, ideal, height = 300, isBanded = true, isNear = false}) {
  const hasBands = isBanded && series.length <= MOST_BANDS;
  const top = legend(root, legendOf(series, ideal, hasBands), width) + 26;
  const bottom = top + height - 80;
  const xs = [...new Set(series.flatMap(({points}) => points.map((point) => point.x)))]
                 .sort((a, b) => a - b);
  if (xs.length === 0) return {height: 40, label: 'No values', targets: []};
  const yScale = yScaleOf(series, y, {ideal, hasBands, isNear: isNear && !hasBands, range: [bottom, top]});
  const yTicks = roundTicks(yScale, y.kind, 6);
  const left = labelRoom(yTicks, (value) => print(y.kind, value));
  const right = width - 14;
  const xScale = scaleOver(xs, [left + 8, right - 8]);
  const xLabel = (value) => print(x.kind, value);
  leftAxis({root, scale: yScale, ticks: yTicks, labelOf: (value) => print(y.kind, value), left, right,
    title: y.label, top});
  bottomAxis({root, scale: xScale, ticks: thinned(xs, xScale, xLabel), labelOf: xLabel, y: bottom,
    title: x.label, width: right});
  if (ideal) root.append(path('ideal', line((d) => xScale(d.x), (d) => yScale(d.value))(ideal)));
  series.forEach((one, index) => root.append(drawSeries(one, index, {xScale, yScale, hasBands})));
  return {height: bottom + 42, guide: [top, bottom], start: isNear && !hasBands && !yScale.isLog ? yScale.domain()[0] : 0,
    label: `${y.label} by ${x.label}, ${series.length} series`,
    targets: xs.map((at) => ({x: xScale(at), y: top + 20, reach: [60, Infinity],
      lines: linesAt(at, series, x, y, ideal)}))};
}

// Whether a series has measured points only.
const isMeasured = ({points}) => points.every((point) => point.predicted === null);

function legendOf(series, ideal, hasBands) {
  const points = series.flatMap((one) => one.points);
  const entries = series.map((one, index) => (isMeasured(one) ?
      {label: series.length > 1 ? `${one.name}, measured` : 'measured', kind: 'measured', series: index} :
      {label: one.name, kind: 'line', series: index}));
  if (hasBands && points.some((point) => point.band)) entries.push({label: '90 % interval', kind: 'band', series: 0});
  if (series.some((one) => !isMeasured(one) && one.points.some((point) => point.measured !== null))) {
    entries.push({label: series.length > 1 ? 'measured (hollow)' : 'measured', kind: 'measured', series: 0});
  }
  if (ideal) entries.push({label: 'ideal: no communication', kind: 'ideal'});
  return entries;
}

function yScaleOf(series, y, {ideal, hasBands, isNear, range}) {
  const points = series.flatMap((one) => one.points);
  const drawn = points.flatMap((point) => [point.predicted, point.measured, ...(hasBands ? point.band ?? [] : [])])
                    .filter((value) => value !== null && value !== undefined);
  if (drawn.length === 0) drawn.push(0, 1);
  const values = ideal ? [...drawn, ...ideal.map((point) => point.value)] : drawn;
  const log = y.kind !== 'percent' && y.kind !== 'fraction' && spansMuch(values) &&
              Math.min(...values) > 0;
  const start = isNear ? startNear(values) : 0;
  const scale = scaleOver([...values, ...(start > 0 ? [start] : [])], range, {fromZero: start === 0, log: log && start === 0});
  return scale.isLog ? scale : Object.assign(scale.nice(6), {isLog: false});
}

function path(className, d) {
  return svg('path', {class: className, d: d ?? ''});
}

function drawSeries({points}, index, {xScale, yScale, hasBands}) {
  const group = svg('g', {class: `series s${index % DISTINCT_SERIES}`});
  const place = (d) => xScale(d.x);
  const banded = points.filter((d) => d.band);
  if (hasBands && banded.length > 1) {
    group.append(path('band', area().x(place).y0((d) => yScale(d.band[0]))
                                  .y1((d) => yScale(d.band[1]))(banded)));
  }
  if (isMeasured({points})) {
    const measured = points.filter((d) => d.measured !== null);
    group.append(path('line between', line(place, (d) => yScale(d.measured))(measured)));
  }
  const predicted = points.filter((d) => d.predicted !== null);
  group.append(path(`line dash${index % DISTINCT_SERIES}`, line(place, (d) => yScale(d.predicted))(predicted)));
  if (predicted.length <= 60) {
    for (const d of predicted) group.append(marker(index, place(d), yScale(d.predicted), 'predicted'));
  }
  for (const d of points.filter((one) => one.measured !== null)) {
    group.append(marker(index, place(d), yScale(d.measured), 'measured'));
  }
  return group;
}

function linesAt(at, series, x, y, ideal) {
  const lines = [`${print(x.kind, at)}${x.kind === 'count' ? ` ${x.label}` : `, ${x.label}`}`];
  series.forEach(({name, points}, index) => {
    const point = points.find((one) => one.x === at);
    if (!point) return;
    lines.push({series: index % DISTINCT_SERIES, text: `${name}: ${valueText(point, y)}`});
  });
  const best = ideal?.find((point) => point.x === at);
  if (best) lines.push(`ideal: ${print(y.kind, best.value)}`);
  return lines;
}

function valueText({predicted, measured, band}, y) {
  const unit = y.unit ? ` ${y.unit}` : '';
  const parts = [];
  if (predicted !== null) parts.push(`${print(y.kind, predicted)}${unit}`);
  if (band) parts.push(`(${print(y.kind, band[0])} to ${print(y.kind, band[1])})`);
  if (measured !== null) parts.push(`measured ${print(y.kind, measured)}${unit}`);
  return parts.join(' ') || 'no prediction';
}
