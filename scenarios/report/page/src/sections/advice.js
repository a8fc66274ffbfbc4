// What limits a step, and what would make it faster.

import {html} from '../dom.js';
import {inWords} from '../data/fields.js';
import {print, signedPercent} from '../units.js';
import {predictionText} from './explanation.js';
import {plainTable} from './plans.js';
import {section} from './section.js';

const partColumns = (step) => [['part of the step', 'text', (part) => part.name], ['time', 'time', (part) => part.time_s],
  ['share', 'plainPercent', (part) => 100 * part.time_s / step]];

const CALL_COLUMNS = [['call', 'text', (call) => call.name], ['size', 'bytes', (call) => call.size_bytes],
  ['in flight', 'time', (call) => call.in_flight_s], ['exposed', 'time', (call) => call.exposed_s]];

const gainText = ({throughput, low, high}) =>
    `${signedPercent(100 * throughput)} (${signedPercent(100 * low)} to ${signedPercent(100 * high)})`;

const PROPOSAL_COLUMNS = [['gain in samples/s, 90 % interval', 'figure', (one) => gainText(one.gain)],
  ['change', 'text', (one) => one.settings.map(inWords).join(', ')],
  ['what', 'text', (one) => one.option ?? 'several together'],
  ['changes training', 'text', (one) => one.alters_training], ['samples/s', 'number', (one) => one.throughput_per_s],
  ['command', 'text', (one) => one.command]];

export function adviceSection(content, {id, name}) {
  const proposals = content.suggestions ?? [];
  const limit = content.limit ?? {};
  const calls = limit.exposed_calls ?? [];
  return [section(id, name ? `Advice: ${name}` : 'Advice',
      html('p', {class: 'lead'}, `${predictionText(content)}${limit.by ? `; limited by ${limit.by}` : ''}.`),
      plainTable('Parts of the step', partColumns(content.step_s), limit.parts ?? []),
      calls.length === 0 ? null : [html('h3', {}, 'Calls that are exposed'), plainTable('Exposed calls', CALL_COLUMNS, calls)],
      html('h3', {}, 'What would make it faster'),
      proposals.length === 0 ? html('p', {}, `None of ${print('count', content.variants)} predicted variants is faster.`) :
                               plainTable('Proposals', PROPOSAL_COLUMNS, proposals))];
}
