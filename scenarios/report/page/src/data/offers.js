// Plans of paceline.capacity/1, each once, and what is said of them in words.

import {isNumber, settingText} from './fields.js';
import {percent, print} from '../units.js';

// A plan is shown as the first of these that it is.
export const CLASSES = [
  {key: 'best', label: 'best', series: 1}, {key: 'others', label: 'runner-up', series: 0},
  {key: 'nearby', label: 'nearby', series: 2}, {key: 'nearest', label: 'nearest miss', series: 3},
  {key: 'may_win', label: 'may win', series: 6}, {key: 'further', label: 'with one more condition', series: 4},
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

// `what` are the conditions under which a plan is the best.
export function offersOf(content) {
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

// "aws p4d.24xlarge": nodes of one's own are in no catalogue.
export const machineName = (plan) => [plan.catalogue, plan.machine].filter(Boolean).join(' ');

export const offerName = (plan) => `${plan.nodes} x ${machineName(plan)}`;

// "6 nodes of gcp n1-standard-8 + 4xT4 in us-central1".
export function nodesText(plan) {
  const nodes = plan.nodes === 1 ? '1 node' : `${print('count', plan.nodes)} nodes`;
  return `${nodes} of ${machineName(plan)}${plan.region ? ` in ${plan.region}` : ''}`;
}

// Catalogues of spot prices seldom say how often nodes are taken away; without that it is in no time and no cost.
export function isUncounted(plan) {
  return plan.pricing === 'spot' && !isNumber(plan.preemptions_per_s);
}

export const pricingText = (plan) => (isUncounted(plan) ? `${plan.pricing}, interruptions not counted` : plan.pricing);

// What a plan is: "runner-up; with one more condition: without gcp; one node only".
export function standingOf(plan, probability) {
  const isMiss = plan.kind.key === 'front' && isNumber(plan.probability) && plan.probability < probability;
  const label = plan.kind.label + (isMiss ? ', misses the targets' : '');
  const conditions = plan.what.length === 0 ? '' :
      `${plan.kind.key === 'further' ? '' : '; with one more condition'}: ${plan.what.join('; ')}`;
  return label + conditions + (isUncounted(plan) ? ' (interruptions not counted)' : '');
}

export const gpusText = (plan) => settingText('gpus', print('count', plan.gpus));

// "Prices of 2026-11-26: aws, gcp." for the plans that are shown; '' where nothing is rented.
export function pricesText(plans) {
  const dates = new Map();
  for (const {priced_on: date, catalogue} of plans.filter((plan) => plan.priced_on)) {
    dates.set(date, (dates.get(date) ?? new Set()).add(catalogue));
  }
  return [...dates].sort().map(([date, names]) => `Prices of ${date === 'unknown' ? 'an unknown date' : date}: ${
      [...names].filter(Boolean).sort().join(', ')}.`)
      .join(' ');
}

// How much was searched; machines where the document says how many.
export function searchText({setups, predicted, refused, machines}) {
  const plans = `${print('count', setups)} ${setups === 1 ? 'plan' : 'plans'}`;
  const on = isNumber(machines) ? ` on ${print('count', machines)} ${machines === 1 ? 'machine' : 'machines'}` : '';
  const refusals = refused > 0 ? `; ${print('count', refused)} of them cannot run` : '';
  return `${plans}${on} ${setups === 1 ? 'was' : 'were'} compared; ${print('count', predicted)} ${
    predicted === 1 ? 'was' : 'were'} predicted in full${refusals}.`;
}

export const chanceText = (content) => percent(100 * content.probability);
