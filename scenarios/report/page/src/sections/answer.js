// The answer first: what was found, in a sentence or two and a few figures.

import {html} from '../dom.js';
import {isNumber, settingText} from '../data/fields.js';
import {number, percent, print, signedPercent} from '../units.js';

const MOST_CARDS = 6;

function intervalText(row) {
  if (!isPredicted(row) || !isNumber(row.step_s_low) || !isNumber(row.step_s_high)) return null;
  const from = 100 * (row.predicted_step_s / row.step_s_high - 1);
  const to = 100 * (row.predicted_step_s / row.step_s_low - 1);
  return `90 %: ${signedPercent(from).replace(/\s*%/, '')} to ${signedPercent(to)}`;
}

// Predicted figures; of a point that was only measured, those.
const isPredicted = (row) => isNumber(row.predicted_throughput_per_s);
const throughputOf = (row) => (isPredicted(row) ? row.predicted_throughput_per_s : row.measured_throughput_per_s);
const speedupOf = (row) => (isPredicted(row) ? row.predicted_speedup : row.measured_speedup);
const stepOf = (row) => (isPredicted(row) ? row.predicted_step_s : row.measured_step_s);

// Of each number of GPUs the fastest point.
function fastestByGpus(rows) {
  const best = new Map();
  for (const row of rows.filter((one) => isNumber(throughputOf(one)))) {
    const known = best.get(row.gpus);
    if (!known || throughputOf(row) > throughputOf(known)) best.set(row.gpus, row);
  }
  return [...best.values()].sort((a, b) => a.gpus - b.gpus);
}

const isTold = (axis) => ['gpus', 'document'].includes(axis.name);

function settingsOf(row, axes) {
  return axes.filter((axis) => !isTold(axis) && row[axis.name] !== undefined)
      .map((axis) => settingText(axis.name, print(axis.kind, row[axis.name]))).join(', ');
}

function sentence(row, points, rows) {
  const settings = settingsOf(row, points.axes);
  const among = settings !== '' ? `, the fastest of ${print('count', rows.length)} points (${settings})` : '';
  const verb = !isPredicted(row) ? 'trained' : row.gpus === 1 ? 'trains' : 'train';
  const unit = isPredicted(row) ? 'samples/s' : 'samples/s (measured)';
  const gpus = settingText('gpus', print('count', row.gpus));
  const parts = [`${gpus} ${verb} ${number(throughputOf(row))} ${unit}${among}`];
  if (isNumber(speedupOf(row)) && row.gpus > 1) {
    parts.push(`${print('ratio', speedupOf(row))} the speed of one GPU, ${
      percent(100 * speedupOf(row) / row.gpus)} efficiency`);
  }
  return `${parts.join(': ')}. `;
}

function errorSentence(rows) {
  const errors = rows.filter((row) => isNumber(row.error_percent) && row.gpus > 1 && !row.known)
                     .map((row) => Math.abs(row.error_percent));
  if (errors.length === 0) return '';
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  return `Measured throughput differs from the prediction by ${percent(mean)} on average (${
    print('count', errors.length)} ${errors.length === 1 ? 'point' : 'points'} on several GPUs). `;
}

function failureSentence(rows) {
  const failed = rows.filter((row) => row.failure).length;
  return failed === 0 ? '' : `${print('count', failed)} of ${print('count', rows.length)} points ${
    failed === 1 ? 'has' : 'have'} no result. `;
}

function measuredText(row) {
  if (!isPredicted(row)) return 'measured';
  const error = isNumber(row.error_percent) ? ` (${signedPercent(row.error_percent)})` : '';
  return `measured ${number(row.measured_throughput_per_s)}${error}`;
}

function card(row) {
  const unit = 'samples/s';
  return html('li', {}, html('b', {}, settingText('gpus', print('count', row.gpus))),
      html('span', {class: 'big'}, number(throughputOf(row)), ' ', html('small', {}, unit)),
      html('span', {}, [isNumber(speedupOf(row)) ? print('ratio', speedupOf(row)) : null,
        `step ${print('time', stepOf(row))}`].filter(Boolean).join(' · ')),
      html('span', {class: 'quiet'}, intervalText(row)),
      isNumber(row.measured_throughput_per_s) ? html('span', {class: 'quiet'}, measuredText(row)) : null);
}

// A few cards keep their size.
const CARD_WIDTH = 250;

function cards(rows) {
  const list = html('ul', {class: 'cards'}, rows.map(card));
  list.style.maxWidth = `${rows.length * CARD_WIDTH}px`;
  return list;
}

// Of more than can be shown, the last and evenly spread others.
function spread(list, most) {
  if (list.length <= most) return list;
  const at = Array.from({length: most}, (_, index) => Math.round(index * (list.length - 1) / (most - 1)));
  return at.map((index) => list[index]);
}

// Measured rows that no reasonable reading of the description explains.
function contradictionsOf(documents) {
  const found = documents.flatMap(({content}) => content?.contradictions ?? []);
  if (found.length === 0) return null;
  return html('ul', {class: 'warnings'}, found.map(({rows, explained_by: causes}) => {
    const times = (row) => number(Number(row.times.toPrecision(2)));
    const points = (rows ?? []).map((row) => `${row.point} (${times(row)} times the described step)`).join(', ');
    const why = (causes ?? []).map((cause) => cause.words).join(' or ');
    return html('li', {}, `Measured rows contradict the description: ${points}. `,
        why ? `Likely: ${why}.` : 'No cause is known.');
  }));
}

function leadOf(points, rows, name) {
  const best = fastestByGpus(rows);
  if (best.length === 0) return html('p', {class: 'lead'}, name, failureSentence(rows));
  return html('p', {class: 'lead'}, name, sentence(best[best.length - 1], points, rows), errorSentence(rows),
      failureSentence(rows));
}

export function pointsAnswer(points, documents) {
  const best = fastestByGpus(points.rows);
  if (best.length === 0) return [html('p', {class: 'lead'}, failureSentence(points.rows) || 'No point has a result.')];
  const next = documents.map((document) => document.content?.measure_next?.what).find(Boolean);
  const widest = documents.map((document) => document.content?.widest_interval).find(Boolean);
  const remarks = [widest ? `Least certain: ${widest}.` : null,
    next ? `To narrow the intervals, measure ${next}.` : null].filter(Boolean).join(' ');
  const names = points.axes.find((axis) => axis.name === 'document')?.values;
  return [names ? names.map((name) => leadOf(points, points.rows.filter((row) => row.document === name), `${name}: `)) :
                  leadOf(points, points.rows, ''),
    names ? null : cards(spread(best, MOST_CARDS)),
  contradictionsOf(documents), remarks ? html('p', {class: 'quiet'}, remarks) : null];
}
