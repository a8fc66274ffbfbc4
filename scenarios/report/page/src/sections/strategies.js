// Every strategy on a point: steps as bars with their intervals.

import {svg, html, fitted, textWidth} from '../dom.js';
import {figure} from '../charts/figure.js';
import {bottomAxis, roundTicks, scaleOver} from '../charts/axes.js';
import {selector} from '../charts/controls.js';
import {bar} from '../charts/hatching.js';
import {legend} from '../charts/legend.js';
import {isNumber, settingText} from '../data/fields.js';
import {print, time} from '../units.js';
import {plainTable} from './plans.js';
import {section} from './section.js';

const BAR = 26;

const LEGEND = [{label: 'compute and overhead', kind: 'box', fill: 'part0'},
  {label: 'exposed communication', kind: 'box', fill: 'part2'}, {label: '90 % interval', kind: 'interval'}];

function pointName(comparison) {
  return comparison.axes.map(({path, value}) => settingText(path, value)).join(', ') || 'the only point';
}

const ran = (comparison) => comparison.strategies.filter((one) => isNumber(one.step_s))
                                .sort((a, b) => a.step_s - b.step_s);

function drawOne(root, one, {x, left, top, hasParts}) {
  const y = top + 4;
  const step = x(one.step_s);
  const exposed = hasParts ? x(one.exposed_communication_s) - x(0) : 0;
  root.append(svg('rect', {x: left, y, width: Math.max(0, step - left - exposed), height: BAR - 8, class: 'part0'}),
      ...bar(root, 'part2', {x: step - exposed, y, width: Math.max(0, exposed), height: BAR - 8}),
      svg('text', {x: left - 8, y: top + BAR / 2 + 4, 'text-anchor': 'end', class: one.fits === false ? 'tick' : ''},
          fitted(one.strategy, left - 10)));
  if (isNumber(one.step_s_low)) {
    const middle = top + BAR / 2;
    root.append(svg('path', {class: 'interval', d: `M${x(one.step_s_low)},${middle}H${x(one.step_s_high)}` +
        [one.step_s_low, one.step_s_high].map((at) => `M${x(at)},${middle - 4}v8`).join('')}));
  }
  return {x: step, y: top + BAR / 2, reach: [Infinity, BAR / 2], box: [left - 1, top + 2, step - left + 2, BAR - 4],
    lines: [one.strategy,
      `step ${time(one.step_s)} (${print('time', one.step_s_low)} to ${print('time', one.step_s_high)})`,
      `exposed communication ${print('time', one.exposed_communication_s)}`, `speedup ${print('ratio', one.speedup)}`,
      `memory ${print('bytes', one.memory_bytes)}${one.fits === false ? ', does not fit' : ''}`]};
}

function draw({root, width, comparison}) {
  const strategies = ran(comparison);
  const top = legend(root, LEGEND, width) + 8;
  const left = Math.min(width / 3, Math.max(...strategies.map((one) => textWidth(one.strategy, 12))) + 14);
  const x = scaleOver([0, ...strategies.map((one) => one.step_s_high ?? one.step_s)], [left, width - 30], {log: false});
  const bottom = top + strategies.length * BAR + 4;
  const ticks = roundTicks(x, 'time', Math.max(3, width / 120));
  bottomAxis({root, scale: x, ticks, labelOf: time, y: bottom, title: 'Step', width: width - 8});
  const targets = strategies.map((one, index) => drawOne(root, one, {x, left, top: top + index * BAR,
    hasParts: isNumber(one.exposed_communication_s)}));
  return {height: bottom + 42, targets, label: `Step of ${strategies.length} strategies, ${pointName(comparison)}`};
}

const COLUMNS = [['strategy', 'text', (one) => one.strategy], ['GPUs', 'count', (one) => one.gpus],
  ['step', 'time', (one) => one.step_s], ['90 % low', 'time', (one) => one.step_s_low],
  ['90 % high', 'time', (one) => one.step_s_high],
  ['exposed communication', 'time', (one) => one.exposed_communication_s],
  ['speedup', 'ratio', (one) => one.speedup], ['memory per GPU', 'bytes', (one) => one.memory_bytes],
  ['fits', 'text', (one) => one.fits], ['refused', 'text', (one) => one.refused]];

function lead(comparison) {
  const [best, next] = ran(comparison);
  if (!best) return 'No strategy could be predicted.';
  const after = next ? `, then ${next.strategy} (${time(next.step_s)})` : '';
  return `${pointName(comparison)}: ${best.strategy} has the shortest step, ${time(best.step_s)}${after}.`;
}

export function strategiesSection(content, {id}) {
  const comparisons = content.comparisons ?? [];
  if (comparisons.length === 0) return [];
  let comparison = comparisons[comparisons.length - 1];
  let chart = null;
  const text = html('p', {class: 'lead'}, lead(comparison));
  const rows = html('div', {});
  const fill = () => rows.replaceChildren(plainTable('Strategies', COLUMNS, [...ran(comparison),
    ...comparison.strategies.filter((one) => !isNumber(one.step_s))]));
  const name = (one) => (new Set(comparisons.map((each) => each.scenario)).size > 1 ?
                             `${one.scenario}, ${pointName(one)}` : pointName(one));
  const choice = selector('Point', comparisons.map((one) => ({value: one, label: name(one)})), comparison, (chosen) => {
    comparison = chosen;
    text.textContent = lead(comparison);
    fill();
    chart.redraw();
  });
  chart = figure({title: 'Step by strategy', controls: [choice], wide: true,
    draw: ({root, width}) => draw({root, width, comparison})});
  fill();
  return [section(id, 'Strategies', text, chart.element, rows)];
}
