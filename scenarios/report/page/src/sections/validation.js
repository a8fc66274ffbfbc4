// Errors of predictions, and of models that know nothing: perfect scaling, no overlap.

import {svg, html} from '../dom.js';
import {figure} from '../charts/figure.js';
import {bottomAxis, labelRoom, leftAxis, roundTicks, scaleOver} from '../charts/axes.js';
import {legend} from '../charts/legend.js';
import {DISTINCT_SERIES, marker} from '../charts/markers.js';
import {isNumber} from '../data/fields.js';
import {number, percent, print, signedPercent} from '../units.js';
import {plainTable} from './plans.js';
import {folded, section} from './section.js';

const ERROR_COLUMNS = [['model', 'text', (row) => row.model], ['points', 'count', (row) => row.points],
  ['mean |error|', 'plainPercent', (row) => row.mean_absolute_percent],
  ['median', 'plainPercent', (row) => row.median_absolute_percent],
  ['largest', 'plainPercent', (row) => row.max_absolute_percent],
  ['bias', 'percent', (row) => row.bias_percent]];

const POINT_COLUMNS = [['scenario', 'text', (row) => row.scenario], ['point', 'text', (row) => row.point],
  ['source', 'text', (row) => row.source], ['network', 'text', (row) => row.network],
  ['measured samples/s', 'number', (row) => row.measured_per_s],
  ['predicted samples/s', 'number', (row) => row.predicted_per_s], ['error', 'percent', (row) => row.error_percent],
  ['perfect scaling', 'percent', (row) => row.perfect_scaling_percent],
  ['no overlap', 'percent', (row) => row.no_overlap_percent], ['in interval', 'text', (row) => row.in_interval],
  ['in headline', 'text', (row) => row.in_headline]];

function errorRows(summary) {
  return Object.entries(summary).filter(([, value]) => value && typeof value === 'object')
      .map(([model, value]) => ({model, ...value}));
}

// Measured against predicted throughput, both logarithmic: on the diagonal there is no error.
function drawScatter({root, width, rows}) {
  const sources = [...new Set(rows.map((row) => row.source))];
  const entries = sources.map((source, series) => ({label: source || 'no source', kind: 'plan', series}));
  const top = legend(root, entries, width) + 26;
  const bottom = top + 300;
  const errors = rows.map((row) => row.error_percent);
  const y = scaleOver([...errors, 0], [bottom, top], {log: false});
  y.nice(6);
  const ticks = roundTicks(y, 'number', 7);
  const left = labelRoom(ticks, signedPercent);
  const x = scaleOver(rows.map((row) => row.measured_per_s), [left + 10, width - 14]);
  leftAxis({root, scale: y, ticks, labelOf: signedPercent, left, right: width - 8, title: 'Error of throughput', top});
  bottomAxis({root, scale: x, ticks: roundTicks(x, 'number', Math.max(3, width / 110)), labelOf: number, y: bottom,
    title: 'Measured samples/s', width: width - 8});
  root.append(svg('line', {x1: left, x2: width - 8, y1: y(0), y2: y(0), class: 'zero'}));
  const targets = rows.map((row) => {
    const [px, py] = [x(row.measured_per_s), y(row.error_percent)];
    const series = sources.indexOf(row.source);
    const isOutside = row.in_interval === false;
    root.append(svg('g', {class: `s${series % DISTINCT_SERIES}`},
        marker(series, px, py, isOutside ? 'measured' : 'plan')));
    return {x: px, y: py, reach: [24, 24], lines: [`${row.scenario}, ${row.point}`,
      `measured ${number(row.measured_per_s)}, predicted ${number(row.predicted_per_s)} samples/s`,
      `error ${signedPercent(row.error_percent)}`,
      isOutside ? 'outside its 90 % interval' : 'inside its 90 % interval']};
  });
  return {height: bottom + 42, targets, label: `Errors of ${rows.length} points by measured throughput`};
}

function lead(content) {
  const ours = content.headline?.paceline;
  if (!ours || !isNumber(ours.mean_absolute_percent)) return null;
  const coverage = content.headline.coverage_percent;
  const failed = content.failed > 0 ? ` Points that failed and are not among them: ${content.failed}.` : '';
  return html('p', {class: 'lead'}, `Predictions differ from ${print('count', ours.points)} measured points by ${
    percent(ours.mean_absolute_percent)} on average${isNumber(coverage) ?
      `; ${percent(coverage)} of the points are inside their 90 % intervals` : ''}.${failed}`);
}

export function validationSection(content, {id}) {
  const rows = (content.rows ?? []).filter((row) => isNumber(row.error_percent) && row.measured_per_s > 0);
  const chart = rows.length === 0 ? null : figure({title: 'Error by throughput', wide: true,
    caption: 'Hollow marks are outside their 90 % intervals.',
    draw: ({root, width}) => drawScatter({root, width, rows})}).element;
  return [section(id, 'Validation', lead(content),
      html('h3', {}, 'Headline: points that no parameter was fitted to'),
      plainTable('Errors, headline', ERROR_COLUMNS, errorRows(content.headline ?? {})),
      html('h3', {}, 'All points'), plainTable('Errors, all points', ERROR_COLUMNS, errorRows(content.all ?? {})),
      chart, plainTable('Measured points', POINT_COLUMNS, content.rows ?? []))];
}

const LEFT_OUT_COLUMNS = [['source left out', 'text', (row) => row.source], ['network', 'text', (row) => row.network],
  ['chosen', 'text', (row) => row.chosen], ...ERROR_COLUMNS.slice(1)];

const KNOWN_COLUMNS = [['source', 'text', (row) => row.source], ['rows known', 'count', (row) => row.known],
  ['mean |error|', 'plainPercent', (row) => row.mean_absolute_percent],
  ['with none known', 'plainPercent', (row) => row.unconditioned_percent],
  ['constant efficiency', 'plainPercent', (row) => row.constant_efficiency_percent],
  ['no overlap', 'plainPercent', (row) => row.no_overlap_percent],
  ['in interval', 'plainPercent', (row) => row.coverage_percent],
  ['interval width', 'plainPercent', (row) => row.width_percent], ['score', 'number', (row) => row.score]];

export function leftOutSection(content, {id}) {
  const sources = content.sources ?? [];
  const known = sources.flatMap((source) => (source.known ?? []).map(
      (row, index) => ({...row, source: source.source, known: index})));
  const mean = isNumber(content.mean_percent) ? html('p', {class: 'lead'},
      `Predicted with what the other sources say, points of ${sources.length} sources differ by ${
        percent(content.mean_percent)} on average (${percent(content.mean_low_percent)} to ${
        percent(content.mean_high_percent)}).`) : null;
  const given = (name) => (isNumber(content[name]) ? null : folded(name.replace(/_/g, ' '),
      html('pre', {tabindex: 0}, JSON.stringify(content[name], null, 1))));
  return [section(id, 'Validation, one source left out', mean,
      plainTable('Errors by source left out', LEFT_OUT_COLUMNS,
          sources.map((source) => ({...source, ...source.paceline}))),
      html('h3', {}, 'With rows of the source known'), plainTable('Errors with rows known', KNOWN_COLUMNS, known),
      content.priors ? given('priors') : null)];
}
