// Plans for a job: cost against time.

import {svg, html} from '../dom.js';
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
  {key: 'front', label: 'on the front', series: 7},
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

function drawTargets(root, {deadline_s: deadline, budget}, {x, y, left, right, top, bottom}) {
  if (isNumber(deadline) && deadline <= x.domain()[1] * 1.0001) {
    root.append(svg('line', {x1: x(deadline), x2: x(deadline), y1: top, y2: bottom, class: 'target'}),
        svg('text', {x: x(deadline) - 5, y: top + 10, 'text-anchor': 'end', class: 'tick'},
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

// The front as steps: until the next plan is in reach, the cheapest so far stays the cheapest.
function drawLine(root, front, {x, y}) {
  const points = front.filter((plan) => isNumber(plan.time_s) && isNumber(plan.cost))
                     .sort((a, b) => a.time_s - b.time_s);
  const d = points.map((plan, index) => (index === 0 ? `M${x(plan.time_s)},${y(plan.cost)}` :
                                             `H${x(plan.time_s)}V${y(plan.cost)}`)).join('');
  root.append(svg('path', {d, class: 'front'}));
}

const timeTicks = (scale) => {
  const steps = [60, 300, 600, 1800, 3600, 7200, 4 * 3600, 8 * 3600, 86400, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400,
    30 * 86400, 60 * 86400];
  const [least, most] = scale.domain();
  const inside = steps.filter((step) => step >= least && step <= most);
  return scale.isLog && inside.length > 1 ? inside : scale.ticks(6);
};

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
  bottomAxis({root, scale: x, ticks: thinned(timeTicks(x), x, time), labelOf: time, y: bottom,
    title: 'Time from start to finish', width: width - 8});
  drawTargets(root, content.targets ?? {}, {x, y, left, right: width - 8, top, bottom});
  drawLine(root, content.front ?? [], {x, y});
  const drawn = plans.filter((plan) => isNumber(plan.time_s) && isNumber(plan.cost));
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
    ['probability', 'fraction', (plan) => plan.probability],
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
        'The line is the front: no plan is cheaper and faster.',
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
