// A metric over two axes at once.

import {extent} from 'd3-array';
import {interpolateCividis, interpolatePuOr} from 'd3-scale-chromatic';
import {fitted, html, svg, textWidth} from '../dom.js';
import {figure} from '../charts/figure.js';
import {selector, Slice} from '../charts/controls.js';
import {spansMuch, thinned} from '../charts/axes.js';
import {isNumber, metricsOf} from '../data/fields.js';
import {strongest} from '../data/points.js';
import {print} from '../units.js';

// Shares of values on a colour scale: logarithmic where they span much, around zero where signed.
function colours(values, metric) {
  const [least, most] = extent(values);
  if (metric.isSigned) {
    const limit = Math.max(Math.abs(least), Math.abs(most)) || 1;
    return {of: (value) => interpolatePuOr(0.5 + value / limit / 2.4), ends: [-limit, limit]};
  }
  const map = spansMuch(values) ? Math.log : (value) => value;
  const span = map(most) - map(least) || 1;
  return {of: (value) => interpolateCividis((map(value) - map(least)) / span), ends: [least, most]};
}

// Black or white, whichever is easier to read on a colour (relative luminance, WCAG 2).
function inkOn(colour) {
  const parts = /^#/.test(colour) ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) :
                                    colour.match(/[\d.]+/g).map(Number);
  const [red, green, blue] = parts.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000' : '#fff';
}

function cellsOf(slice, x, y, metric) {
  const cells = new Map();
  for (const {rows} of slice.groups()) {
    for (const row of rows) {
      const value = row[metric.predicted] ?? row[metric.measured];
      if (isNumber(value)) cells.set(`${x.values.indexOf(row[x.name])} ${y.values.indexOf(row[y.name])}`, value);
    }
  }
  return cells;
}

function placeOf({x, y, width}) {
  const labels = y.values.map((value) => textWidth(print(y.kind, value)));
  const left = Math.min(width / 3, Math.max(...labels) + 14);
  const cellWidth = (width - left - 2) / x.values.length;
  const cellHeight = Math.min(34, Math.max(14, cellWidth * 0.7));
  return {left, top: 58, cellWidth, cellHeight, bottom: 58 + cellHeight * y.values.length};
}

function drawCells(root, cells, place, {x, y, metric, colour}) {
  const targets = [];
  for (const [key, value] of cells) {
    const [column, row] = key.split(' ').map(Number);
    const [left, top] = [place.left + column * place.cellWidth,
      place.bottom - (row + 1) * place.cellHeight];
    const fill = colour.of(value);
    root.append(svg('rect', {x: left, y: top, width: Math.max(1, place.cellWidth - 1),
      height: place.cellHeight - 1, fill}));
    const text = print(metric.kind, value);
    if (textWidth(text) < place.cellWidth - 6 && place.cellHeight >= 14) {
      root.append(svg('text', {x: left + (place.cellWidth - 1) / 2, y: top + place.cellHeight / 2 + 4,
        'text-anchor': 'middle', fill: inkOn(fill), class: 'celltext'}, text));
    }
    targets.push({x: left + place.cellWidth / 2, y: top + place.cellHeight / 2,
      reach: [place.cellWidth / 2, place.cellHeight / 2],
      box: [left, top, place.cellWidth - 1, place.cellHeight - 1],
      lines: [`${metric.label}: ${text}${metric.unit ? ` ${metric.unit}` : ''}`,
        `${x.label}: ${print(x.kind, x.values[column])}`, `${y.label}: ${print(y.kind, y.values[row])}`]});
  }
  return targets;
}

function drawLabels(root, place, x, y, width) {
  const xLabel = (index) => print(x.kind, x.values[index]);
  const middle = (index) => place.left + (index + 0.5) * place.cellWidth;
  for (const index of thinned(x.values.map((_, at) => at), middle, xLabel, 6)) {
    root.append(svg('text', {x: middle(index), y: place.bottom + 16, 'text-anchor': 'middle',
      class: 'tick'}, xLabel(index)));
  }
  y.values.forEach((value, index) => root.append(svg('text', {x: place.left - 8, class: 'tick',
    y: place.bottom - (index + 0.5) * place.cellHeight + 4, 'text-anchor': 'end'},
      fitted(print(y.kind, value), place.left - 10))));
  root.append(svg('text', {x: width - 2, y: place.bottom + 34, 'text-anchor': 'end',
    class: 'axistitle'}, x.label), svg('text', {x: 0, y: place.top - 10, class: 'axistitle'}, y.label));
}

function drawLegend(root, colour, metric, width) {
  const [least, most] = colour.ends;
  const from = print(metric.kind, least);
  const to = print(metric.kind, most);
  const length = Math.min(160, width / 3);
  const start = textWidth(from) + 8;
  root.append(svg('text', {x: 0, y: 14, class: 'tick'}, from));
  const isLog = !metric.isSigned && least > 0 && spansMuch([least, most]);
  for (let i = 0; i < 40; i += 1) {
    const share = (i + 0.5) / 40;
    const value = isLog ? least * (most / least) ** share : least + (most - least) * share;
    root.append(svg('rect', {x: start + i * length / 40, y: 4, width: length / 40 + 0.6, height: 12,
      fill: colour.of(value)}));
  }
  root.append(svg('text', {x: start + length + 8, y: 14, class: 'tick'},
      `${to}${metric.unit ? ` ${metric.unit}` : ''}`));
}

function drawMap({root, width, slice, x, y, metric}) {
  const cells = cellsOf(slice, x, y, metric);
  if (cells.size === 0) return {height: 30, label: 'No values at these settings', targets: []};
  const colour = colours([...cells.values()], metric);
  const place = placeOf({x, y, width});
  drawLegend(root, colour, metric, width);
  drawLabels(root, place, x, y, width);
  return {height: place.bottom + 42, targets: drawCells(root, cells, place, {x, y, metric, colour}),
    title: `${metric.label} by ${x.label} and ${y.label}`,
    label: `Heat map: ${metric.label} by ${x.label} and ${y.label}`};
}

export function heatMap(points) {
  const {axes} = points;
  if (axes.length < 2) return null;
  const metrics = metricsOf(points.rows);
  let metric = metrics.find((one) => one.id === 'efficiency') ?? metrics[0];
  const isNamed = (axis) => axis.name === 'document' || axis.name === 'scenario';
  const plain = axes.filter((axis) => !isNamed(axis));
  let x = plain.find((axis) => axis.name === 'gpus') ?? plain[0] ?? axes[0];
  let y = strongest(plain.filter((axis) => axis !== x)) ?? axes.find((axis) => axis !== x);
  let chart = null;
  const slice = new Slice(points, [x.name, y.name], () => chart.redraw(), {hasSeries: false});
  const options = axes.map((axis) => ({value: axis, label: axis.label}));
  const controls = () => [
    selector('Show', metrics.map((one) => ({value: one, label: one.label})), metric,
        changed((one) => { metric = one; })),
    selector('Across', options, x, changed((one) => { if (one === y) y = x; x = one; })),
    selector('Up', options, y, changed((one) => { if (one === x) x = y; y = one; })), slice.box];
  const changed = (act) => (chosen) => {
    act(chosen);
    slice.take([x.name, y.name]);
    holder.replaceChildren(...controls());
    chart.redraw();
  };
  const holder = html('span', {class: 'slice'}, controls());
  chart = figure({title: 'Two settings at once', controls: [holder], wide: true,
    draw: ({root, width}) => drawMap({root, width, slice, x, y, metric})});
  return chart.element;
}
