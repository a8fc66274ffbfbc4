// What a step's time goes to, as stacked bars.

import {svg, textWidth, fitted} from '../dom.js';
import {figure} from '../charts/figure.js';
import {labelRoom, leftAxis, roundTicks, scaleOver, thinned} from '../charts/axes.js';
import {selector, Slice} from '../charts/controls.js';
import {bar} from '../charts/hatching.js';
import {legend} from '../charts/legend.js';
import {isNumber} from '../data/fields.js';
import {strongest} from '../data/points.js';
import {print} from '../units.js';

const MOST_BARS = 48;

// Their sum is the step. Communication that compute hides takes no time of its own: its part is
// the compute that runs meanwhile.
const PARTS = [
  {label: 'compute alone', fill: 'part0', of: (row) => row.compute_s - hidden(row)},
  {label: 'compute that hides communication', fill: 'part1', of: hidden},
  {label: 'exposed communication', fill: 'part2', of: (row) => row.exposed_communication_s},
  {label: 'other', fill: 'part3', of: (row) => {
    const rest = row.predicted_step_s - row.compute_s - row.exposed_communication_s;
    return rest > 1e-3 * row.predicted_step_s ? rest : 0;
  }},
];

function hidden(row) {
  const behind = Math.max(0, row.communication_s - row.exposed_communication_s);
  return Math.min(row.compute_s, behind);
}

const hasParts = (row) => isNumber(row.compute_s) && isNumber(row.exposed_communication_s) &&
                          isNumber(row.communication_s) && isNumber(row.predicted_step_s);

function drawBars({root, width, rows, axis}) {
  const used = PARTS.filter((part) => rows.some((row) => part.of(row) > 0));
  const top = legend(root, used.map((part) => ({label: part.label, kind: 'box', fill: part.fill})), width) + 26;
  const bottom = top + 220;
  const y = scaleOver(rows.map((row) => row.predicted_step_s), [bottom, top], {fromZero: true, log: false});
  y.nice(5);
  const ticks = roundTicks(y, 'time', 5);
  const left = labelRoom(ticks, (value) => print('time', value));
  leftAxis({root, scale: y, ticks, labelOf: (value) => print('time', value), left, right: width - 2,
    title: 'Step', top});
  const step = (width - left - 2) / rows.length;
  const barWidth = Math.min(64, step * 0.72);
  const middle = (index) => left + (index + 0.5) * step;
  const targets = rows.map((row, index) => drawBar(root, row, {used, y, x: middle(index) - barWidth / 2, width: barWidth, axis}));
  const label = (index) => fitted(print(axis.kind, rows[index][axis.name]), Math.max(40, step - 4));
  for (const index of thinned(rows.map((_, at) => at), middle, label, 4)) {
    root.append(svg('text', {x: middle(index), y: bottom + 17, 'text-anchor': 'middle', class: 'tick'}, label(index)));
  }
  root.append(svg('text', {x: width - 2, y: bottom + 35, 'text-anchor': 'end', class: 'axistitle'}, axis.label));
  return {height: bottom + 42, targets, label: `Parts of the step by ${axis.label}, ${rows.length} bars`};
}

function drawBar(root, row, {used, y, x, width, axis}) {
  let sum = 0;
  const lines = [`${axis.label} ${print(axis.kind, row[axis.name])}: step ${print('time', row.predicted_step_s)}`];
  for (const part of used) {
    const value = part.of(row);
    if (!(value > 0)) continue;
    root.append(...bar(root, part.fill, {x, width, y: y(sum + value), height: Math.max(0, y(sum) - y(sum + value))}));
    sum += value;
    lines.push(`${part.label}: ${print('time', value)} (${Math.round(100 * value / row.predicted_step_s)} %)`);
  }
  const total = print('time', row.predicted_step_s);
  if (textWidth(total) < width * 1.3) {
    root.append(svg('text', {x: x + width / 2, y: y(sum) - 5, 'text-anchor': 'middle', class: 'tick'}, total));
  }
  return {x: x + width / 2, y: y(sum), lines, reach: [width / 2 + 3, Infinity],
    box: [x - 2, y(sum) - 2, width + 4, y(0) - y(sum) + 4]};
}

export function partsChart(points) {
  if (!points.rows.some(hasParts)) return null;
  const axes = points.axes.length > 0 ? points.axes :
      [{name: 'gpus', label: 'GPUs', kind: 'count', values: []}];
  let axis = axes.find((one) => one.name === 'gpus') ?? strongest(axes);
  let chart = null;
  const slice = new Slice(points, [axis.name], () => chart.redraw());
  slice.hasSeries = false;
  slice.series = '';
  slice.reset();
  const controls = [axes.length < 2 ? null : selector('Over',
      axes.map((one) => ({value: one, label: one.label})), axis,
      (chosen) => { axis = chosen; slice.take([axis.name]); chart.redraw(); }), slice.box];
  chart = figure({title: 'What the step consists of', controls, draw: ({root, width}) => {
    const rows = slice.groups().flatMap((group) => group.rows).filter(hasParts);
    const order = (row) => axis.values.indexOf(row[axis.name]);
    rows.sort((a, b) => order(a) - order(b));
    if (rows.length === 0) return {height: 30, label: 'No predictions at these settings', targets: []};
    const left = rows.length - MOST_BARS;
    const drawn = drawBars({root, width, rows: rows.slice(0, MOST_BARS), axis});
    return {...drawn, caption: left > 0 ? `${left} more points are in the table.` : ''};
  }});
  return chart.element;
}
