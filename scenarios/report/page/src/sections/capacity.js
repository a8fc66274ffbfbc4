// Plans for a job: cost against time.

import {html, svg, textWidth} from '../dom.js';
import {figure} from '../charts/figure.js';
import {bottomAxis, labelRoom, leftAxis, roundTicks, scaleOver, spansMuch, thinned} from '../charts/axes.js';
import {legend} from '../charts/legend.js';
import {marker} from '../charts/markers.js';
import {isNumber} from '../data/fields.js';
import {number, percent, print, time} from '../units.js';
import {assumptionList} from './assumptions.js';
import {plainTable} from './plans.js';
import {folded, section} from './section.js';

const CLASSES = [
  {key: 'best', label: 'best', series: 1}, {key: 'others', label: 'runners-up', series: 0},
  {key: 'nearby', label: 'nearby', series: 2}, {key: 'nearest', label: 'nearest miss', series: 3},
  {key: 'may_win', label: 'may win', series: 6}, {key: 'further', label: 'other questions', series: 4},
  {key: 'front', label: 'cheapest at its speed', series: 7},
];

const planId = (plan) => [plan.catalogue, plan.machine, plan.region, plan.nodes, plan.pricing, plan.strategy,
  plan.bucket_cap, plan.batch_per_gpu, plan.passes].join('\u0000');

function plansOfClass(content, {key}) {
  const found = content[key];
  if (!found) return [];
  if (key === 'further') return found.filter((one) => one.best).map((one) => ({plan: one.best, what: one.what}));
  return (Array.isArray(found) ? found : [found]).map((plan) => ({plan}));
}

// Each plan once, under the first class that has it; `what` are the questions that it answers.
function plansOf(content) {
  const plans = new Map();
  for (const kind of CLASSES) {
    for (const {plan, what} of plansOfClass(content, kind)) {
      const id = planId(plan);
      if (!plans.has(id)) plans.set(id, {...plan, kind, what: []});
      if (what) plans.get(id).what.push(what);
    }
  }
  return [...plans.values()];
}

function money(currency) {
  return (value) => `${number(value)} ${currency}`;
}

const title = (plan) => `${plan.nodes} x ${plan.machine}`;

function drawPlan(root, plan, {x, y}) {
  const group = svg('g', {class: `s${plan.kind.series}`});
  const [px, py] = [x(plan.time_s), y(plan.cost)];
  if (isNumber(plan.time_s_limit)) {
    group.append(svg('line', {x1: px, x2: x(plan.time_s_limit), y1: py, y2: py, class: 'whisker'}));
  }
  if (isNumber(plan.cost_limit)) {
    group.append(svg('line', {x1: px, x2: px, y1: py, y2: y(plan.cost_limit), class: 'whisker'}));
  }
  group.append(marker(plan.kind.series, px, py, plan.kind.key === 'best' ? 'measured' : 'plan'));
  root.append(group);
}

// Left of the line, or right of it where that is outside the chart.
function besideLine(at, left, text) {
  const isLeft = at - 5 - textWidth(text) > left;
  return {'x': isLeft ? at - 5 : at + 5, 'text-anchor': isLeft ? 'end' : 'start'};
}

function drawTargets(root, {deadline_s: deadline, budget}, {x, y, left, right, top, bottom}) {
  if (isNumber(deadline) && deadline <= x.domain()[1] * 1.0001) {
    root.append(svg('line', {x1: x(deadline), x2: x(deadline), y1: top, y2: bottom, class: 'target'}),
        svg('text', {...besideLine(x(deadline), left, `deadline ${time(deadline)}`), y: top + 10, class: 'tick'},
            `deadline ${time(deadline)}`));
  }
  if (isNumber(budget) && budget <= y.domain()[1] * 1.0001) {
    root.append(svg('line', {x1: left, x2: right, y1: y(budget), y2: y(budget), class: 'target'}),
        svg('text', {x: right - 4, y: y(budget) - 5, 'text-anchor': 'end', class: 'tick'}, 'budget'));
  }
}

function linesOf(plan, content) {
  const price = money(content.currency);
  const chance = percent(100 * content.probability);
  return [`${title(plan)} (${plan.kind.label})`, ...plan.what.map((what) => `best ${what}`),
    `${plan.gpus} GPUs, ${plan.pricing}, ${plan.strategy}, batch ${plan.batch_per_gpu}`,
    `time ${time(plan.time_s)}, ${chance} limit ${print('time', plan.time_s_limit)}`,
    `cost ${price(plan.cost)}, ${chance} limit ${isNumber(plan.cost_limit) ? price(plan.cost_limit) : 'none'}`,
    `targets met with ${percent(100 * plan.probability)} probability`];
}

// The plans that no other beats in both time and cost, joined by steps: up to the next one the
// cheapest so far stays the cheapest. Other questions have other conditions, and no part in it.
function drawLine(root, plans, {x, y}) {
  const byTime = plans.filter((plan) => plan.kind.key !== 'further')
                     .sort((a, b) => a.time_s - b.time_s || a.cost - b.cost);
  let least = Infinity;
  let d = '';
  for (const plan of byTime) {
    if (plan.cost >= least) continue;
    d += least === Infinity ? `M${x(plan.time_s)},${y(plan.cost)}` : `H${x(plan.time_s)}V${y(plan.cost)}`;
    least = plan.cost;
  }
  root.append(svg('path', {d, class: 'front'}));
}

const MINUTES = [1, 2, 5, 10, 20, 30];
const HOURS = [1, 2, 3, 4, 6, 8, 12, 18];
const DAYS = [1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 45, 60, 90, 120, 180, 365];
const ROUND_TIMES = [...MINUTES.map((count) => 60 * count), ...HOURS.map((count) => 3600 * count),
  ...DAYS.map((count) => 86400 * count)];

function timeTicks(scale) {
  const [least, most] = scale.domain();
  const inside = ROUND_TIMES.filter((value) => value >= least && value <= most);
  return inside.length > 1 ? inside : scale.ticks(6);
}

function drawFront({root, width, content, plans}) {
  const used = CLASSES.filter((kind) => plans.some((plan) => plan.kind === kind));
  const top = legend(root, used.map((kind) => ({label: kind.label, kind: kind.key === 'best' ? 'measured' : 'plan',
    series: kind.series})), width) + 26;
  const bottom = top + 300;
  const {deadline_s: deadline, budget} = content.targets ?? {};
  const all = (...fields) => plans.flatMap((plan) => fields.map((field) => plan[field])).filter(isNumber);
  const costs = [...all('cost', 'cost_limit'), ...(isNumber(budget) ? [budget] : [])];
  const times = [...all('time_s', 'time_s_limit'), ...(isNumber(deadline) ? [deadline] : [])];
  const y = scaleOver(costs, [bottom, top + 8], {fromZero: true});
  const ticks = roundTicks(y, 'number', 6);
  const left = labelRoom(ticks, number);
  const x = scaleOver(times, [left + 8, width - 14], {log: spansMuch([Math.min(...times), Math.max(...times) * 6])});
  leftAxis({root, scale: y, ticks, labelOf: number, left, right: width - 8, title: `Cost, ${content.currency}`, top});
  bottomAxis({root, scale: x, ticks: thinned(timeTicks(x), x, time, 22), labelOf: time, y: bottom,
    title: 'Time from start to finish', width: width - 8});
  drawTargets(root, content.targets ?? {}, {x, y, left, right: width - 8, top, bottom});
  const drawn = plans.filter((plan) => isNumber(plan.time_s) && isNumber(plan.cost));
  drawLine(root, drawn, {x, y});
  for (const plan of [...drawn].reverse()) drawPlan(root, plan, {x, y});
  return {height: bottom + 42, label: `Cost against time, ${drawn.length} plans`,
    targets: drawn.map((plan) => ({x: x(plan.time_s), y: y(plan.cost), reach: [26, 26],
      lines: linesOf(plan, content)}))};
}

function lead(content) {
  const plan = content.best ?? content.nearest;
  if (!plan) return html('p', {class: 'lead'}, 'No plan meets the targets.');
  const price = money(content.currency);
  const chance = percent(100 * content.probability);
  const start = content.best ? '' : 'No plan meets the targets; the nearest is ';
  return html('p', {class: 'lead'}, `${start}${title(plan)} (${plan.gpus} GPUs, ${plan.pricing}, ${plan.strategy}): ${
    time(plan.time_s)} and ${price(plan.cost)}; with ${chance} probability no more than ${
    print('time', plan.time_s_limit)} and ${isNumber(plan.cost_limit) ? price(plan.cost_limit) : 'no limit'}.`);
}

function columns(content) {
  const price = money(content.currency);
  return [['plan', 'text', title], ['is', 'text', (plan) => [plan.kind.label, ...plan.what].join('; ')],
    ['GPUs', 'count', (plan) => plan.gpus], ['time', 'time', (plan) => plan.time_s],
    ['time limit', 'time', (plan) => plan.time_s_limit],
    ['cost', 'figure', (plan) => (isNumber(plan.cost) ? price(plan.cost) : null)],
    ['cost limit', 'figure', (plan) => (isNumber(plan.cost_limit) ? price(plan.cost_limit) : null)],
    ['probability', 'probability', (plan) => plan.probability],
    ['samples/s', 'number', (plan) => plan.throughput_per_s], ['step', 'time', (plan) => plan.step_s],
    ['device', 'text', (plan) => plan.device], ['pricing', 'text', (plan) => plan.pricing],
    ['strategy', 'text', (plan) => plan.strategy], ['batch per GPU', 'count', (plan) => plan.batch_per_gpu],
    ['bucket cap', 'text', (plan) => plan.bucket_cap], ['region', 'text', (plan) => plan.region],
    ['priced on', 'text', (plan) => plan.priced_on]];
}

function settlingOf(content) {
  const rows = content.settling ?? [];
  if (rows.length === 0) return null;
  return html('ul', {class: 'assumptions'}, rows.map(({plan, hangs_on: cause, measure}) => html('li', {},
      [`${title(plan)} depends on ${cause}.`, measure ? ` To settle it: ${measure}.` : ''].join(''))));
}

export function capacitySection(content, {id, name}) {
  const plans = plansOf(content);
  const chart = plans.length === 0 ? null : figure({title: 'Cost against time', wide: true,
    caption: `Marks are medians; whiskers end at the ${percent(100 * content.probability)} limits. ` +
        'The line joins the plans that no other plan here beats in both time and cost.',
    draw: ({root, width}) => drawFront({root, width, content, plans})}).element;
  const left = content.left_out ?? [];
  return [section(id, `Capacity: ${content.job ?? name}`, lead(content), chart,
      plans.length === 0 ? null : plainTable('Plans', columns(content), plans, (plan) => plan.kind.key === 'best'),
      settlingOf(content), html('p', {class: 'quiet'}, `${print('count', content.setups)} setups, ${
        print('count', content.predicted)} predicted in full, ${print('count', content.refused)} cannot run.`),
      left.length === 0 ? null : folded(`Machines left out (${left.length})`, plainTable('Machines left out',
          [['machine', 'text', (one) => one.machine], ['why', 'text', (one) => one.why]], left)),
      content.best?.assumptions ?
          folded('Assumptions of the best plan', assumptionList(content.best.assumptions)) : null)];
}
