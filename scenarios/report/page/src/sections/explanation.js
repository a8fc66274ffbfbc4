// Where one prediction comes from: terms that add up to the step, its calls, the step without one thing, and what
// makes its interval wide.

import {html} from '../dom.js';
import {figure} from '../charts/figure.js';
import {rowBars} from '../charts/row_bars.js';
import {inWords, isNumber, settingText} from '../data/fields.js';
import {barsOfTerms} from '../data/terms.js';
import {number, percent, print, signedPercent, time} from '../units.js';
import {plainTable} from './plans.js';
import {section} from './section.js';

// Calls beyond the longest ones repeat what these say.
const MOST_CALLS = 50;

const fillOf = (bar) => (bar.isStep ? 'part3' : bar.time_s < 0 ? 'part1' : bar.isExposed ? 'part2' : 'part0');

function drawTerms({root, width, content}) {
  const rows = barsOfTerms(content).map((bar) => {
    const share = percent(100 * bar.time_s / content.step_s);
    return {label: bar.name, from: bar.from, to: bar.to, fill: fillOf(bar), text: `${time(bar.time_s)} (${share})`,
      lines: [bar.name, `${time(bar.time_s)}, ${share} of the step`, ...(bar.formula ? [bar.formula] : [])]};
  });
  const fills = new Set(rows.map((row) => row.fill));
  const entries = [['part0', 'compute and overhead'], ['part2', 'exposed communication'],
    ['part1', 'makes the step shorter'], ['part3', 'step: their sum']]
      .filter(([fill]) => fills.has(fill)).map(([fill, label]) => ({label, kind: 'box', fill}));
  return {...rowBars({root, width, rows, entries, labelOf: time, title: 'Time in the step'}),
    label: `${rows.length - 1} terms that add up to a step of ${time(content.step_s)}`};
}

function drawWidths({root, width, content}) {
  const rows = content.interval.map((one) => {
    const [low, high] = [signedPercent(100 * one.low), signedPercent(100 * one.high)];
    return {label: one.quantity, from: 100 * one.low, to: 100 * one.high, fill: 'part1', text: `${low} to ${high}`,
      lines: [one.quantity, `${low} to ${high} of the step`, `${percent(100 * one.share)} of all squares`]};
  });
  return {...rowBars({root, width, rows, entries: [], labelOf: signedPercent, title: 'Change of the step'}),
    label: `What makes the interval wide, ${rows.length} quantities`};
}

const TERM_COLUMNS = [['term', 'text', (term) => term.name], ['time', 'time', (term) => term.time_s],
  ['share', 'plainPercent', (term) => 100 * term.share], ['formula', 'text', (term) => term.formula],
  ['source', 'text', (term) => term.source]];

const CALL_COLUMNS = [['call', 'text', (call) => call.name], ['size', 'bytes', (call) => call.size_bytes],
  ['exposed', 'time', (call) => call.exposed_s], ['start', 'time', (call) => call.start_s],
  ['end', 'time', (call) => call.end_s], ['alone', 'time', (call) => call.alone?.time_s],
  ['of that, bytes', 'time', (call) => call.alone?.bandwidth_s],
  ['of that, latency', 'time', (call) => call.alone?.latency_s], ['rounds', 'count', (call) => call.alone?.rounds],
  ['collective', 'text', (call) => call.collective?.replace(/_/g, '-')], ['algorithm', 'text', (call) => call.algorithm],
  ['busiest link', 'text', (call) => linkText(call.alone?.busiest_link)], ['waits for', 'text', (call) => call.waited_for],
  ['ready', 'time', (call) => call.ready_s], ['chosen by', 'text', (call) => call.chosen_by]];

function linkText(link) {
  return link ? `${link.name} of ${print('rate', link.bandwidth_bytes_per_s)}, shared by ${link.shared_by}` : null;
}

function withoutColumns(step) {
  return [['without', 'text', (one) => one.what], ['step', 'time', (one) => one.step_s],
    ['difference', 'percent', (one) => (isNumber(one.step_s) ? 100 * (one.step_s / step - 1) : null)],
    ['by', 'text', (one) => one.settings?.join(' ') || (one.refused ? null : 'the step that ran, scheduled again')],
    ['refused', 'text', (one) => one.refused]];
}

// The point of one prediction and its step, of explanations and advice.
export function predictionText(content) {
  const point = [settingText('gpus', print('count', content.gpus)),
    ...(content.settings ?? []).filter((one) => !one.startsWith('gpus=')).map(inWords)].join(', ');
  const interval = isNumber(content.step_s_low) ?
      ` (${time(content.step_s_low)} to ${time(content.step_s_high)} with 90${'\u00a0'}% probability)` : '';
  const speedup = isNumber(content.speedup) && content.gpus > 1 ?
      `, ${print('ratio', content.speedup)} the speed of one GPU` : '';
  return `${point}: a step takes ${time(content.step_s)}${interval}, ${number(content.throughput_per_s)} samples/s${speedup}`;
}

const titled = (title, ...children) => [html('h3', {}, title), children];

function callsTable(content) {
  const calls = [...(content.calls ?? [])].sort((a, b) => b.exposed_s - a.exposed_s);
  if (calls.length === 0) return null;
  const title = calls.length > MOST_CALLS ? `Calls, the ${MOST_CALLS} exposed longest of ${print('count', calls.length)}` :
                                            'Calls, those exposed longest first';
  return titled(title, plainTable('Calls', CALL_COLUMNS, calls.slice(0, MOST_CALLS)));
}

export function explanationSection(content, {id, name}) {
  const widths = content.interval ?? [];
  const without = content.without ?? [];
  return [section(id, name ? `Explanation: ${name}` : 'Explanation', html('p', {class: 'lead'}, `${predictionText(content)}.`),
      figure({title: 'What the step consists of', wide: true,
        caption: `The step of rank ${content.rank}, which ends last. Terms that take no time are in the table only.`,
        draw: ({root, width}) => drawTerms({root, width, content})}).element,
      plainTable('Terms', TERM_COLUMNS, content.terms ?? []), callsTable(content),
      without.length === 0 ? null : titled('The step without one thing', html('p', {class: 'quiet'},
          'The step is predicted again each time. The differences need not add up.'),
          plainTable('Without', withoutColumns(content.step_s), without)),
      widths.length === 0 ? null : figure({title: 'What makes the interval wide', wide: true,
        caption: 'How much shorter or longer the step is at either end of what one quantity may be.',
        draw: ({root, width}) => drawWidths({root, width, content})}).element)];
}
