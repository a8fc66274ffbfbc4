// Scales and axes of charts.

import {extent} from 'd3-array';
import {axisBottom, axisLeft} from 'd3-axis';
import {scaleLinear, scaleLog} from 'd3-scale';
import {select} from 'd3-selection';
import {svg, textWidth} from '../dom.js';
import {print} from '../units.js';

// Values that span more than this are drawn on a logarithmic scale.
const LOGARITHMIC_FROM = 30;

export function spansMuch(values) {
  const [least, most] = extent(values);
  return least > 0 && most / least > LOGARITHMIC_FROM;
}

export function scaleOver(values, range, {fromZero = false, log = null} = {}) {
  let [least, most] = extent(values);
  if (log ?? spansMuch(values)) {
    if (least === most) [least, most] = [least / 2, most * 2];
    return Object.assign(scaleLog([least, most], range).base(2), {isLog: true});
  }
  if (fromZero) [least, most] = [Math.min(0, least), Math.max(0, most)];
  if (least === most) [least, most] = [least - 1, most + 1];
  return Object.assign(scaleLinear([least, most], range), {isLog: false});
}

// Where an axis starts: at zero if differences stay visible so, else below the least value.
export function startNear(values) {
  const [least, most] = extent(values);
  return least > 0 && most > least && most - least < 0.35 * most ? Math.max(0, least - (most - least)) : 0;
}

// Of sorted candidates as many as fit, each with its label's width.
export function thinned(values, place, labelOf, gap = 10) {
  const kept = [];
  let free = -Infinity;
  for (const value of values) {
    const half = textWidth(labelOf(value)) / 2;
    if (place(value) - half < free) continue;
    kept.push(value);
    free = place(value) + half + gap;
  }
  return kept;
}

// Round values for an axis of a kind: powers of two of bytes, of ten otherwise on a log scale.
export function roundTicks(scale, kind, count) {
  if (!scale.isLog) {
    if (kind !== 'bytes') return scale.ticks(count);
    const unit = 2 ** (10 * Math.floor(Math.log2(Math.max(...scale.domain())) / 10));
    return scaleLinear(scale.domain().map((value) => value / unit), scale.range())
        .ticks(count).map((value) => value * unit);
  }
  const base = kind === 'bytes' || kind === 'count' || kind === 'ratio' ? 2 : 10;
  return scale.copy().base(base).ticks(count).filter((value) => isRound(value, base, scale, count));
}

function isRound(value, base, scale, count) {
  const [least, most] = scale.domain();
  const powers = Math.log(most / least) / Math.log(base);
  if (base === 2) {
    const every = Math.max(1, Math.ceil(powers / count));
    return Math.abs(Math.round(Math.log2(value)) % every) === 0;
  }
  const digit = Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(3));
  return powers > count ? digit === 1 : powers > count / 3 ? [1, 3].includes(digit) || digit === 10 :
                                                             [1, 2, 5, 10].includes(digit);
}

export function bottomAxis({root, scale, ticks, labelOf, y, title, width}) {
  const group = svg('g', {class: 'axis', transform: `translate(0,${y})`});
  root.append(group);
  select(group).call(axisBottom(scale).tickValues(ticks).tickFormat(labelOf).tickSizeOuter(0)
                         .tickSize(4).tickPadding(5));
  plain(group);
  root.append(svg('text', {class: 'axistitle', x: width, y: y + 33, 'text-anchor': 'end'}, title));
}

export function leftAxis({root, scale, ticks, labelOf, left, right, title, top}) {
  const group = svg('g', {class: 'axis grid', transform: `translate(${left},0)`});
  root.append(group);
  select(group).call(axisLeft(scale).tickValues(ticks).tickFormat(labelOf).tickSizeOuter(0)
                         .tickSize(-(right - left)).tickPadding(7));
  plain(group);
  group.querySelector('.domain')?.remove();
  root.append(svg('text', {class: 'axistitle', x: 0, y: top - 10}, title));
}

// d3-axis sets colours and fonts of its own as attributes; the stylesheet decides here.
function plain(group) {
  for (const name of ['fill', 'font-size', 'font-family']) group.removeAttribute(name);
  group.querySelectorAll('[stroke],[fill]').forEach((element) => {
    if (element.getAttribute('stroke') === 'currentColor') element.removeAttribute('stroke');
    if (element.getAttribute('fill') === 'currentColor') element.removeAttribute('fill');
  });
}

// The room that labels of a left axis need.
export function labelRoom(ticks, labelOf) {
  return Math.ceil(Math.max(0, ...ticks.map((tick) => textWidth(labelOf(tick))))) + 12;
}

export function printer(kind) {
  return (value) => print(kind, value);
}
