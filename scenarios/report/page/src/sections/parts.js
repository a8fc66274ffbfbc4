// What a step's time goes to, as stacked bars: predicted, and measured on its right.

import {svg, textWidth, fitted} from '../dom.js';
import {figure} from '../charts/figure.js';
import {labelRoom, leftAxis, roundTicks, scaleOver, thinned} from '../charts/axes.js';
import {selector, Slice} from '../charts/controls.js';
import {bar} from '../charts/hatching.js';
import {legend} from '../charts/legend.js';
import {isNumber, settingText} from '../data/fields.js';
import {strongest} from '../data/points.js';
import {print, time} from '../units.js';

const MOST_PLACES = 48;

// Their sum is the step. Communication that compute hides takes no time of its own: its part is
// the compute that runs meanwhile.
const PARTS = [
  {label: 'compute alone', fill: 'part0', of: (step) => step.compute - hidden(step)},
  {label: 'compute that hides communication', fill: 'part1', of: hidden},
  {label: 'exposed communication', fill: 'part2', of: (step) => step.exposed},
  {label: 'other', fill: 'part3', of: (step) => {
    const rest = step.whole - step.compute - step.exposed;
    return rest > 1e-3 * step.whole ? rest : 0;
  }},
];

function hidden(step) {
  return Math.min(step.compute, Math.max(0, step.communication - step.exposed));
}

// The steps of a row that are known in parts: predicted, measured.
function stepsOf(row) {
  return [
    {origin: 'predicted', whole: row.predicted_step_s, compute: row.compute_s, communication: row.communication_s,
      exposed: row.exposed_communication_s},
    {origin: 'measured', whole: row.measured_step_s, compute: row.measured_compute_s,
      communication: row.measured_communication_s, exposed: row.measured_exposed_communication_s},
  ].filter((step) => [step.whole, step.compute, step.communication, step.exposed].every(isNumber))
      .map((step) => ({...step, document: row.document}));
}

function legendOf(steps) {
  const entries = PARTS.filter((part) => steps.some((step) => part.of(step) > 0))
                      .map((part) => ({label: part.label, kind: 'box', fill: part.fill}));
  const isMixed = new Set(steps.map((step) => step.origin)).size > 1;
  return isMixed ? [...entries, {label: 'measured (outlined)', kind: 'box', fill: 'outlined'}] : entries;
}

// `places` are the axis' values, each with the steps there: [{value, steps}].
function drawBars({root, width, places, axis, hasDocuments}) {
  const steps = places.flatMap((place) => place.steps);
  const top = legend(root, legendOf(steps), width) + 26;
  const bottom = top + 220;
  const y = scaleOver(steps.map((step) => step.whole), [bottom, top], {fromZero: true, log: false});
  y.nice(5);
  const ticks = roundTicks(y, 'time', 5);
  const left = labelRoom(ticks, time);
  leftAxis({root, scale: y, ticks, labelOf: time, left, right: width - 2, title: 'Step', top});
  const room = (width - left - 2) / places.length;
  const middle = (index) => left + (index + 0.5) * room;
  const isMixed = legendOf(steps).some((entry) => entry.fill === 'outlined');
  const targets = places.flatMap((place, index) => drawPlace(root, place,
      {y, middle: middle(index), room, axis, isMixed, hasDocuments}));
  const label = (index) => fitted(print(axis.kind, places[index].value), Math.max(40, room - 4));
  for (const index of thinned(places.map((_, at) => at), middle, label, 4)) {
    root.append(svg('text', {x: middle(index), y: bottom + 17, 'text-anchor': 'middle', class: 'tick'}, label(index)));
  }
  root.append(svg('text', {x: width - 2, y: bottom + 35, 'text-anchor': 'end', class: 'axistitle'}, axis.label));
  return {height: bottom + 42, targets, label: `Parts of the step by ${axis.label}, ${steps.length} steps`};
}

function drawPlace(root, {value, steps}, {y, middle, room, axis, isMixed, hasDocuments}) {
  const width = Math.min(64, room * 0.76 / steps.length);
  return steps.map((step, index) => {
    const x = middle + (index - steps.length / 2) * width;
    const target = drawBar(root, step, {y, x, width: width - (steps.length > 1 ? 2 : 0),
      isOutlined: isMixed && step.origin === 'measured'});
    target.lines.unshift(`${settingText(axis.name, print(axis.kind, value))}: ${step.origin} step ${time(step.whole)}`,
        ...(hasDocuments ? [step.document] : []));
    return target;
  });
}

function drawBar(root, step, {y, x, width, isOutlined}) {
  let sum = 0;
  const lines = [];
  for (const part of PARTS) {
    const value = part.of(step);
    if (!(value > 0)) continue;
    root.append(...bar(root, part.fill, {x, width, y: y(sum + value), height: Math.max(0, y(sum) - y(sum + value))}));
    sum += value;
    lines.push(`${part.label}: ${time(value)} (${Math.round(100 * value / step.whole)} %)`);
  }
  const size = y(0) - y(sum);
  if (isOutlined) root.append(svg('rect', {x, y: y(sum), width, height: size, class: 'outlined'}));
  if (textWidth(time(step.whole)) < width * 1.3) {
    root.append(svg('text', {x: x + width / 2, y: y(sum) - 5, 'text-anchor': 'middle', class: 'tick'},
        time(step.whole)));
  }
  return {x: x + width / 2, y: y(sum), lines, reach: [width / 2 + 2, Infinity],
    box: [x - 2, y(sum) - 2, width + 4, size + 4]};
}

function placesOf(rows, axis) {
  const byValue = new Map(axis.values.map((value) => [value, []]));
  for (const row of rows) {
    const value = row[axis.name];
    byValue.set(value, [...(byValue.get(value) ?? []), ...stepsOf(row)]);
  }
  return [...byValue].map(([value, steps]) => ({value, steps})).filter(({steps}) => steps.length > 0);
}

// Documents stand side by side at each value; other axes are held.
function othersOf(axis) {
  return [axis.name, 'document'];
}

export function partsChart(points) {
  if (!points.rows.some((row) => stepsOf(row).length > 0)) return null;
  const named = points.axes.filter((one) => one.name !== 'document');
  const axes = named.length > 0 ? named :
      [{name: 'gpus', label: 'GPUs', kind: 'count', values: []}];
  let axis = axes.find((one) => one.name === 'gpus') ?? strongest(axes);
  let chart = null;
  const slice = new Slice(points, othersOf(axis), () => chart.redraw(), {hasSeries: false});
  const controls = [axes.length < 2 ? null : selector('Over',
      axes.map((one) => ({value: one, label: one.label})), axis,
      (chosen) => { axis = chosen; slice.take(othersOf(axis)); chart.redraw(); }), slice.box];
  chart = figure({title: 'What the step consists of', controls, draw: ({root, width}) => {
    const places = placesOf(slice.groups().flatMap((group) => group.rows), axis);
    if (places.length === 0) return {height: 30, label: 'No steps at these settings', targets: []};
    const left = places.length - MOST_PLACES;
    const drawn = drawBars({root, width, places: places.slice(0, MOST_PLACES), axis,
      hasDocuments: points.axes.some((one) => one.name === 'document')});
    return {...drawn, caption: left > 0 ? `${left} more values are in the table.` : ''};
  }});
  return chart.element;
}
