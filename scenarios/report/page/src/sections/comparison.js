// Where two results differ: a waterfall from the step of A to the step of B.

import {svg, html, textWidth} from '../dom.js';
import {figure} from '../charts/figure.js';
import {labelRoom, leftAxis, roundTicks, scaleOver, startNear} from '../charts/axes.js';
import {bar} from '../charts/hatching.js';
import {selector} from '../charts/controls.js';
import {settingText} from '../data/fields.js';
import {print, signedTime, time} from '../units.js';
import {plainTable} from './plans.js';
import {section} from './section.js';

const PARTS = [['compute_s', 'compute'], ['bandwidth_s', 'bandwidth'], ['latency_s', 'latency'], ['skew_s', 'skew'],
  ['rest_s', 'rest']];

function pairName(pair) {
  const axes = Object.entries(pair.axes ?? {}).filter(([path]) => path !== 'gpus')
                   .map(([path, value]) => settingText(path, value));
  const gpus = pair.b_gpus !== pair.gpus ? `${pair.gpus} and ${pair.b_gpus} GPUs` :
                                           `${pair.gpus} ${pair.gpus === 1 ? 'GPU' : 'GPUs'}`;
  return [gpus, ...axes].join(', ');
}

// Bars as {label, from, to, fill}.
function barsOf(pair) {
  const bars = [{label: 'A', from: 0, to: pair.a.step_s, fill: 'part0'}];
  let at = pair.a.step_s;
  for (const [key, label] of PARTS) {
    const part = pair.parts?.[key];
    if (typeof part !== 'number') continue;
    bars.push({label, from: at, to: at + part, fill: part > 0 ? 'part2' : 'part1', part});
    at += part;
  }
  bars.push({label: 'B', from: 0, to: pair.b.step_s, fill: 'part0'});
  return bars;
}

// From zero where that leaves differences visible, else from below the shortest bar's end.
function scaleFor(bars, range) {
  const ends = bars.flatMap((bar) => (bar.part === undefined ? [bar.to] : [bar.from, bar.to]));
  const scale = scaleOver([startNear(ends), Math.max(...ends)], range, {log: false});
  scale.nice(5);
  return {scale, cut: scale.domain()[0]};
}

function draw({root, width, pair}) {
  const [top, bottom] = [44, 264];
  const bars = barsOf(pair);
  const {scale: y, cut} = scaleFor(bars, [bottom, top]);
  const ticks = roundTicks(y, 'time', 5);
  const left = labelRoom(ticks, time);
  leftAxis({root, scale: y, ticks, labelOf: time, left, right: width - 2, title: 'Step', top: top - 14});
  const step = (width - left - 2) / bars.length;
  const wide = Math.min(70, step * 0.7);
  // Where names do not fit side by side, every other one stands a line lower.
  const isTight = bars.some(({label}) => textWidth(label) > step - 4);
  const targets = bars.map(({label, from, to, fill, part}, index) => {
    const x = left + (index + 0.5) * step;
    const low = Math.max(cut, Math.min(from, to));
    const high = Math.max(from, to);
    const size = Math.max(1, y(low) - y(high));
    root.append(...bar(root, fill, {x: x - wide / 2, y: y(high), width: wide, height: size}));
    const value = part === undefined ? time(to) : signedTime(part);
    if (textWidth(value) < step) {
      root.append(svg('text', {x, y: y(high) - 5, 'text-anchor': 'middle', class: 'tick'}, value));
    }
    const line = isTight && index % 2 === 1 ? 13 : 0;
    root.append(svg('text', {x, y: bottom + 17 + line, 'text-anchor': 'middle', class: 'tick'}, label));
    return {x, y: y(high), reach: [step / 2, Infinity], box: [x - wide / 2 - 2, y(high) - 2, wide + 4, size + 4],
      lines: [label, value]};
  });
  const caption = cut > 0 ? `The axis starts at ${time(cut)}.` : '';
  return {height: bottom + (isTight ? 41 : 28), targets, caption, label: `From A to B, ${pairName(pair)}`};
}

const COLUMNS = [['point', 'text', pairName], ['step A', 'time', (pair) => pair.a.step_s],
  ['step B', 'time', (pair) => pair.b.step_s],
  ['B - A', 'signedTime', (pair) => pair.difference_s],
  ['B is faster by', 'ratio', (pair) => pair.speedup],
  ...PARTS.map(([key, label]) => [label, 'signedTime', (pair) => pair.parts?.[key] ?? null]),
  ['mostly', 'text', (pair) => (pair.is_clear ? pair.mostly : 'nothing clear')]];

export function comparisonSection(content, {id}) {
  const pairs = content.pairs ?? [];
  const sides = html('p', {class: 'lead'}, `A is ${content.a} (${pairs[0]?.a.is ?? 'no points'}), B is ${
    content.b} (${pairs[0]?.b.is ?? 'no points'}).`);
  if (pairs.length === 0) return [section(id, 'Comparison', sides)];
  let pair = pairs.reduce((a, b) => (Math.abs(b.difference_s) > Math.abs(a.difference_s) ? b : a));
  let chart = null;
  const choice = selector('Point', pairs.map((one) => ({value: one, label: pairName(one)})), pair,
      (chosen) => { pair = chosen; chart.redraw(); });
  chart = figure({title: 'What makes the difference', controls: [choice], wide: true,
    draw: ({root, width}) => draw({root, width, pair})});
  const alone = content.without_partner ?? [];
  return [section(id, 'Comparison', sides, chart.element, plainTable('Pairs of points', COLUMNS, pairs),
      alone.length === 0 ? null : html('p', {class: 'quiet'}, `Points of one side only: ${
        alone.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('; ')}`))];
}
