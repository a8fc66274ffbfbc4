// The answer first: what was found, in a sentence or two and a few figures.

import {html} from '../dom.js';
import {differencesText, fastestByGpus, isPredicted, namedPoint, peersOf, settingsOf, speedupOf, stepOf,
  throughputOf} from '../data/best.js';
import {inWords, isNumber, settingText} from '../data/fields.js';
import {number, percent, print, signedPercent} from '../units.js';

const MOST_CARDS = 6;

// Of throughput: a longer step is less.
function intervalText(row) {
  if (!isPredicted(row) || !isNumber(row.step_s_low) || !isNumber(row.step_s_high)) return null;
  const at = (step) => number(Number((throughputOf(row) * row.predicted_step_s / step).toPrecision(3)));
  return `90 %: ${at(row.step_s_high)} to ${at(row.step_s_low)} samples/s`;
}

function sentence(row, points, rows) {
  const settings = settingsOf(row, points.axes);
  const count = peersOf(row, rows).length;
  const among = settings === '' ? '' :
      count > 1 ? `, the ${count === 2 ? 'faster' : 'fastest'} of ${print('count', count)} points (${settings})` : ` (${settings})`;
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
      html('span', {class: 'quiet'}, intervalText(row)),
      html('span', {}, [isNumber(speedupOf(row)) ? print('ratio', speedupOf(row)) : null,
        `step ${print('time', stepOf(row))}`].filter(Boolean).join(' · ')),
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

// Measured rows outside their intervals, and what would explain them.
function contradictionsOf(documents) {
  const found = documents.flatMap(({content}) => content?.contradictions ?? []);
  if (found.length === 0) return null;
  return html('ul', {class: 'warnings'}, found.map(({sentence}) => html('li', {}, sentence)));
}

function leadOf(points, rows, name) {
  const best = namedPoint(rows);
  if (!best) return html('p', {class: 'lead'}, name, failureSentence(rows));
  return html('p', {class: 'lead'}, name, sentence(best, points, rows), differencesText(best, rows, points.axes),
      errorSentence(rows), failureSentence(rows));
}

// What makes the widest interval wide, and what would narrow it.
function remarksOf(documents) {
  const [widest, next] = ['widest_interval', 'measure_next'].map(
      (name) => documents.map((document) => document.content?.[name]).find(Boolean));
  const share = next?.width_after_over_before;
  const narrower = isNumber(share) ? `; intervals would shrink to ${percent(Math.round(100 * share))} of their width` : '';
  return [widest ? `Widest interval: ${inWords(widest)}.` : null,
    next?.what ? `Measure next: ${inWords(next.what)}${narrower}.` : null].filter(Boolean);
}

export function pointsAnswer(points, documents) {
  const best = fastestByGpus(points.rows);
  if (best.length === 0) return [html('p', {class: 'lead'}, failureSentence(points.rows) || 'No point has a result.')];
  const names = points.axes.find((axis) => axis.name === 'document')?.values;
  return [names ? names.map((name) => leadOf(points, points.rows.filter((row) => row.document === name), `${name}: `)) :
                  leadOf(points, points.rows, ''),
    names ? null : cards(spread(best, MOST_CARDS)), contradictionsOf(documents),
    remarksOf(documents).map((text) => html('p', {class: 'quiet'}, text))];
}
