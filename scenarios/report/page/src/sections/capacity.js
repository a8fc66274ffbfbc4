// Plans for a job: cost against time.

import {html, svg, textWidth} from '../dom.js';
import {figure} from '../charts/figure.js';
import {bottomAxis, labelRoom, leftAxis, roundTicks, scaleOver, spansMuch, thinned} from '../charts/axes.js';
import {legend} from '../charts/legend.js';
import {lineChart} from '../charts/line_chart.js';
import {marker} from '../charts/markers.js';
import {isNumber} from '../data/fields.js';
import {chanceText, CLASSES, gpusText, isUncounted, machineName, nodesText, offerName, offersOf, pricesText, pricingText, searchText,
  standingOf} from '../data/offers.js';
import {number, percent, print, time} from '../units.js';
import {assumptionList} from './assumptions.js';
import {plainTable} from './plans.js';
import {folded, section} from './section.js';

function money(currency) {
  return (value) => `${number(value)} ${currency}`;
}

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
  const chance = chanceText(content);
  return [nodesText(plan), standingOf(plan, content.probability), `${gpusText(plan)}, ${plan.pricing}`,
    `${plan.strategy}, batch ${plan.batch_per_gpu}`,
    `time ${time(plan.time_s)}, ${chance} limit ${print('time', plan.time_s_limit)}`,
    `cost ${price(plan.cost)}, ${chance} limit ${isNumber(plan.cost_limit) ? price(plan.cost_limit) : 'none'}`,
    `targets met with ${percent(100 * plan.probability)} probability`];
}

// The plans that no other beats in both time and cost, joined by steps: up to the next one the
// cheapest so far stays the cheapest. Plans with one more condition have no part in it.
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

// Above and below a mark, right and left of its whisker.
function placesBeside(x, y, width) {
  return [[x + 9, y - 10], [x + 9, y + 12], [x - width - 9, y - 10], [x - width - 9, y + 12], [x - width / 2, y + 16]]
      .map(([x0, at]) => ({x0, x1: x0 + width, y: at}));
}

// The condition beside the mark of a plan that is shown for it alone, where it covers no other mark or name.
function nameConditions(root, plans, {x, y, left, right, bottom}) {
  const taken = plans.map((plan) => ({x0: x(plan.time_s) - 7, x1: x(plan.time_s) + 7, y: y(plan.cost)}));
  for (const plan of plans.filter((one) => one.kind.key === 'further')) {
    const text = plan.what.join('; ');
    const free = placesBeside(x(plan.time_s), y(plan.cost), textWidth(text)).find(({x0, x1, y: at}) => x0 > left &&
        x1 < right && at < bottom && !taken.some((one) => one.x0 < x1 && one.x1 > x0 && Math.abs(one.y - at) < 14));
    if (!free) continue;
    taken.push(free);
    root.append(svg('text', {x: free.x0, y: free.y + 4, class: 'tick'}, text));
  }
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
  nameConditions(root, drawn, {x, y, left, right: width - 8, bottom: bottom - 8});
  return {height: bottom + 42, label: `Cost against time, ${drawn.length} plans`,
    targets: drawn.map((plan) => ({x: x(plan.time_s), y: y(plan.cost), reach: [26, 26],
      lines: linesOf(plan, content)}))};
}

function lead(content) {
  const plan = content.best ?? content.nearest;
  if (!plan) return html('p', {class: 'lead'}, 'No plan meets the targets.');
  const price = money(content.currency);
  const start = content.best ? '' : 'No plan meets the targets; the nearest is ';
  const cap = plan.bucket_cap ? ` with buckets of ${plan.bucket_cap}` : '';
  return html('p', {class: 'lead'}, `${start}${nodesText(plan)} (${gpusText(plan)}, ${plan.device}, ${
    pricingText(plan)}), training by ${plan.strategy}${cap}, ${print('count', plan.batch_per_gpu)} samples per GPU: ${
    time(plan.time_s)} and ${price(plan.cost)}; with ${chanceText(content)} probability no more than ${
    print('time', plan.time_s_limit)} and ${isNumber(plan.cost_limit) ? price(plan.cost_limit) : 'no limit'}. ${
    targetsText(content, plan)}`);
}

// "The deadline of 6 h is met with 93.9 % probability."
function targetsText({targets, currency}, plan) {
  const {deadline_s: deadline, throughput_per_s: throughput, budget} = targets ?? {};
  const all = [isNumber(deadline) ? `the deadline of ${time(deadline)}` : null,
    isNumber(throughput) ? `the throughput of ${number(throughput)} samples/s` : null,
    isNumber(budget) ? `the budget of ${money(currency)(budget)}` : null].filter(Boolean);
  if (all.length === 0 || !isNumber(plan.probability)) return '';
  const named = all.join(' and ');
  return `${named[0].toUpperCase()}${named.slice(1)} ${all.length === 1 ? 'is' : 'are'} met with ${
    print('probability', plan.probability).replace('>', 'more than').replace('<', 'less than')} probability.`;
}

function columns(content) {
  const price = money(content.currency);
  return [['plan', 'text', offerName], ['region', 'text', (plan) => plan.region],
    ['is', 'text', (plan) => standingOf(plan, content.probability)],
    ['cost', 'figure', (plan) => (isNumber(plan.cost) ? price(plan.cost) : null)],
    ['cost limit', 'figure', (plan) => (isNumber(plan.cost_limit) ? price(plan.cost_limit) : null)],
    ['time', 'time', (plan) => plan.time_s], ['time limit', 'time', (plan) => plan.time_s_limit],
    ['probability', 'probability', (plan) => plan.probability], ['pricing', 'text', (plan) => plan.pricing],
    ['GPUs', 'count', (plan) => plan.gpus],
    ['device', 'text', (plan) => plan.device], ['samples/s', 'number', (plan) => plan.throughput_per_s],
    ['step', 'time', (plan) => plan.step_s], ['strategy', 'text', (plan) => plan.strategy],
    ['batch per GPU', 'count', (plan) => plan.batch_per_gpu], ['bucket cap', 'text', (plan) => plan.bucket_cap],
    ['node, per hour', 'figure', (plan) => (isNumber(plan.price_per_node_hour) ? price(plan.price_per_node_hour) : null)],
    ['priced on', 'text', (plan) => plan.priced_on]];
}

// Time and cost of the best plan of each number of nodes. The line marks the least time x cost.
function byNodes(content) {
  const plans = (content.by_nodes ?? []).map(({plan, efficiency}) => ({...plan, efficiency}));
  if (plans.length === 0) return null;
  const waste = content.inefficient_from_nodes;
  const knee = plans.findIndex((plan) => plan.nodes === content.knee_nodes);
  const chart = (title, unit, field, scale) => figure({title: `${title} by number of nodes`, draw: ({root, width}) => {
    const series = [['median', field], [`${chanceText(content)} limit`, `${field}_limit`]].map(([name, key]) => ({name,
      points: plans.map((plan) => ({x: plan.nodes, predicted: isNumber(plan[key]) ? plan[key] / scale : null, measured: null}))}));
    const drawn = lineChart({root, width, series, x: {label: 'nodes', kind: 'count'},
      y: {label: `${title}, ${unit}`, kind: 'number', unit}, ideal: null});
    const [{x}, [top, bottom], text] = [drawn.targets[knee], drawn.guide, 'least time x cost'];
    root.append(svg('line', {x1: x, x2: x, y1: top, y2: bottom, class: 'target'}),
        svg('text', {...besideLine(x, 60, text), y: top + 10, class: 'tick'}, text));
    return drawn;
  }}).element;
  const shown = ['cost', 'cost limit', 'time', 'time limit', 'strategy', 'batch per GPU'];
  return [chart('Time', 'h', 'time_s', 3600), chart('Cost', content.currency, 'cost', 1),
    html('p', {class: 'quiet'}, `The best plan of each number of nodes of ${machineName(plans[0])}, whatever the targets. ` +
        'Up to the least time x cost more nodes divide the time by more than they multiply the cost by. Efficiency is ' +
        `throughput per node over that of the fewest${isNumber(waste) ? `; it is below 70 % from ${waste} nodes on` : ''}.`),
    plainTable('By number of nodes', [['nodes', 'count', (plan) => plan.nodes],
      ['efficiency', 'fraction', (plan) => plan.efficiency], ...columns(content).filter(([name]) => shown.includes(name))], plans)];
}

function settlingOf(content) {
  const rows = content.settling ?? [];
  if (rows.length === 0) return null;
  const price = money(content.currency);
  return html('ul', {class: 'assumptions'}, rows.map(({plan, hangs_on: cause, measure, cost_limit_after: after}) => {
    const gain = isNumber(after) && isNumber(plan.cost_limit) ? `; if the result is as predicted, the ${
      chanceText(content)} limit goes from ${price(plan.cost_limit)} to ${price(after)}` : '';
    return html('li', {}, `${offerName(plan)} depends most on ${cause}.`, measure ? ` Measure next: ${measure}${gain}.` : '');
  }));
}

const SPOT = 'Spot plans: nobody tells how often nodes are taken away, so a wide range is assumed. Set it ' +
    '(spot: {price, preemptions} in the catalogue).';

function remarks(content, plans) {
  return [plans.some(isUncounted) ? SPOT : null, pricesText(plans), searchText(content)].filter(Boolean)
      .map((text) => html('p', {class: 'quiet'}, text));
}

export function capacitySection(content, {id, name}) {
  const plans = offersOf(content);
  const chart = plans.length === 0 ? null : figure({title: 'Cost against time', wide: true,
    caption: `Marks are medians; whiskers end at the ${chanceText(content)} limits. ` +
        'The line joins the plans that no other plan here beats in both time and cost. ' +
        'A plan with one more condition is the best that meets it, too.',
    draw: ({root, width}) => drawFront({root, width, content, plans})}).element;
  return [section(id, `Capacity: ${content.job ?? name}`, lead(content), chart,
      plans.length === 0 ? null : plainTable('Plans', columns(content), plans, (plan) => plan.kind.key === 'best'),
      byNodes(content), settlingOf(content), remarks(content, plans))];
}

// Of a document of plans, what the plan that is shown assumes, and the machines that no plan uses.
export function capacityDetails({content}) {
  if (content?.schema !== 'paceline.capacity/1') return null;
  const left = content.left_out ?? [];
  const {assumptions} = content.best ?? content.nearest ?? {};
  return [assumptions?.length > 0 ? folded(`Assumptions of the ${content.best ? 'best' : 'nearest'} plan (${
    print('count', assumptions.length)})`, assumptionList(assumptions)) : null,
  left.length === 0 ? null : folded(`Machines left out (${print('count', left.length)})`, plainTable('Machines left out',
      [['machine', 'text', (one) => one.machine], ['why', 'text', (one) => one.why]], left))];
}
