// What the page makes of numbers and documents, without a browser: node --test page_test.mjs
import assert from 'node:assert/strict';
import test from 'node:test';
import {pointsOf, columnsOf} from '../../scenarios/report/page/src/data/points.js';
import {differencesText, namedPoint} from '../../scenarios/report/page/src/data/best.js';
import {changedLines, describedLines} from '../../scenarios/report/page/src/data/described.js';
import {inWords, METRICS} from '../../scenarios/report/page/src/data/fields.js';
import {offersOf, pricesText, searchText, standingOf} from '../../scenarios/report/page/src/data/offers.js';
import {barsOfTerms} from '../../scenarios/report/page/src/data/terms.js';
import {timelinesOf} from '../../scenarios/report/page/src/data/steps.js';
import * as units from '../../scenarios/report/page/src/units.js';

const blanks = (text) => text.replaceAll('\u00a0', ' ');

test('bytes are binary, unless a round decimal number was written', () => {
  assert.equal(blanks(units.bytes(25 * 2 ** 20)), '25 MiB');
  assert.equal(blanks(units.bytes(1e6)), '1 MB');
  // 440,425,712 / 2^20 = 420.02...
  assert.equal(blanks(units.bytes(440425712)), '420 MiB');
});

test('bandwidth is bits per second', () => {
  assert.equal(blanks(units.rate(12.5e9)), '100 Gbps');
  assert.equal(blanks(units.rate(2.5e9 / 8)), '2.5 Gbps');
});

test('times have four digits, and two units from two minutes on', () => {
  assert.equal(blanks(units.time(5e-6)), '5 us');
  assert.equal(blanks(units.time(0.29059580852870204)), '290.6 ms');
  assert.equal(blanks(units.time(0)), '0 s');
  // 15,955 s = 4 x 3,600 + 25 x 60 + 55, rounded to minutes.
  assert.equal(blanks(units.time(15955)), '4 h 26 min');
  // 2 x 86,400 s less a second: rounding must not say "1 d 24 h".
  assert.equal(blanks(units.time(2 * 86400 - 1)), '2 d');
});

test('a difference that rounding leaves is no time', () => {
  assert.equal(blanks(units.signedTime(-1.1e-16)), '0 s');
  assert.equal(blanks(units.signedTime(-0.0185)), '−18.5 ms');
});

test('ticks of a time axis keep the digits that tell them apart', () => {
  assert.equal(blanks(units.tickTime(0.05, 0.35)(0.25)), '250 ms');
  assert.equal(blanks(units.tickTime(1e-6, 0.35)(0.250001)), '250.001 ms');
});

test('a missing value is a dash, and zero is not missing', () => {
  assert.equal(units.print('time', null), '–');
  assert.equal(units.print('count', 0), '0');
});

const point = (gpus, step, measured = null) => ({gpus, nodes: 1, axes: [{path: 'gpus', unit: '1', value: gpus}],
  predicted: {step_s: step, step_s_low: step / 1.25, step_s_high: step * 1.25, throughput_per_s: 32 * gpus / step,
    speedup: gpus, calls: [{name: 'bucket 0', start_s: 0.1, end_s: 0.2}, {name: 'bucket 1', start_s: 0.15, end_s: 0.3}]},
  measured});

const result = (name, points) => ({name, content: {schema: 'paceline.result/1', points}});

test('an axis is what differs between points', () => {
  const points = pointsOf([result('a.json', [point(8, 0.3), point(16, 0.4)])]);
  assert.deepEqual(points.axes.map((axis) => axis.name), ['gpus']);
  assert.deepEqual(points.axes[0].values, [8, 16]);
});

test('several documents are an axis, in their order', () => {
  const points = pointsOf([result('z.json', [point(8, 0.3)]), result('a.json', [point(8, 0.4)])]);
  assert.deepEqual(points.axes.map((axis) => [axis.name, axis.values]), [['document', ['z.json', 'a.json']]]);
});

test('a store gives the same rows as a result', () => {
  const store = {schema: 'paceline.points/1', scenarios: ['one'], texts: [['an assumption']],
    columns: [{name: 'gpus', unit: '1', is_axis: true}, ...['predicted_step_s', 'step_s_low', 'step_s_high',
      'predicted_throughput_per_s', 'predicted_speedup', 'scenario', 'assumed'].map((name) => ({name, is_axis: false}))],
    rows: [[8, 0.3, 0.24, 0.375, 853, 8, 0, 0], [16, 0.4, 0.32, 0.5, 1280, 16, 0, null]]};
  const {rows, axes} = pointsOf([{name: 'points.json', content: store}]);
  assert.deepEqual(axes.map((axis) => axis.name), ['gpus']);
  assert.equal(rows[0].predicted_efficiency, 1);
  assert.equal(rows[0].scenario, 'one');
  assert.deepEqual(rows.map((row) => row.assumed), [['an assumption'], []]);
});

test('the interval of a throughput is that of the step upside down', () => {
  const throughput = METRICS.find((metric) => metric.id === 'throughput');
  const {rows: [row]} = pointsOf([result('a.json', [point(8, 0.3)])]);
  // A step 1.25 times as long has 1/1.25 of the throughput 32 x 8 / 0.3.
  const [low, high] = throughput.band(row);
  assert.ok(Math.abs(low - 32 * 8 / 0.3 / 1.25) < 1e-9 && Math.abs(high - 32 * 8 / 0.3 * 1.25) < 1e-9);
});

test('a column without a value is left out of the table', () => {
  const names = columnsOf(pointsOf([result('a.json', [point(8, 0.3)])])).map((column) => column.name);
  assert.ok(names.includes('predicted_step_s') && !names.includes('measured_step_s'));
});

test('calls that overlap get lanes of their own in the timeline', () => {
  const documents = [result('a.json', [point(8, 0.3)])];
  const [timeline] = timelinesOf(documents, pointsOf(documents));
  const [rank] = timeline.steps[0].ranks;
  assert.deepEqual(rank.spans.map((span) => span.lane), [0, 1, 2]);
});

test('predicted stands above measured in the timeline', () => {
  const step = (origin) => ({point: '8 GPUs', origin, step_s: 0.3, ranks: []});
  const document = {content: {schema: 'paceline.steps/1', steps: [step('imported'), step('measured'), step('predicted')]}};
  const [{steps}] = timelinesOf([document], null);
  assert.deepEqual(steps.map((one) => one.origin), ['predicted', 'measured', 'imported']);
});

test('a sample of a grid is known as one', () => {
  // Two points of the four that 8 and 16 GPUs with two caps would be: a grid; four of 16: a sample.
  const at = (gpus, cap) => ({...point(gpus, 0.3), axes: [{path: 'training.bucket_cap', unit: 'B', value: cap}]});
  assert.ok(pointsOf([result('a.json', [at(8, 1), at(16, 2)])]).isGrid);
  assert.ok(!pointsOf([result('a.json', [1, 2, 3, 4].map((cap) => at(8 * cap, cap)))]).isGrid);
});

// Steps of 32 samples on each of 8 GPUs at these bucket caps.
function capsTable(steps, latency = null) {
  const axes = (cap) => [{path: 'training.bucket_cap', unit: 'B', value: cap * 2 ** 20},
    ...(latency === null ? [] : [{path: 'cluster.network.latency', unit: 's', value: latency}])];
  return Object.entries(steps).map(([cap, step]) => ({...point(8, step), axes: axes(Number(cap))}));
}

function differences(rows) {
  const points = pointsOf([result('a.json', rows)]);
  return blanks(differencesText(namedPoint(points.rows), points.rows, points.axes));
}

test('the point that is named is the fastest on the most GPUs', () => {
  const {rows} = pointsOf([result('a.json', [point(16, 0.4), point(16, 0.3), point(8, 0.01)])]);
  assert.deepEqual([namedPoint(rows).gpus, namedPoint(rows).predicted_step_s], [16, 0.3]);
  assert.equal(namedPoint([]), null);
});

test('differences that are smaller than those of one run are said not to matter', () => {
  // 1.026 and 1.002 of the best step: below 3.2 %.
  const text = differences(capsTable({25: 1.002, 50: 1, 500: 1.026}));
  assert.match(text, /^All 3 lie within 2\.6 %, .* the choice hardly matters\./);
  assert.match(text, /PyTorch's default bucket cap, 25 MiB, takes 0\.2 % longer\./);
});

test('larger differences are told, as a factor from twice the time on', () => {
  assert.match(differences(capsTable({25: 1, 1: 1.5})), /The other takes 50 % longer per sample\. 25 MiB is PyTorch's default\./);
  assert.match(differences(capsTable({25: 1, 1: 2.5})), /The other takes 2\.5 times as long per sample\./);
  assert.equal(differences(capsTable({25: 1.5, 1: 1})), "PyTorch's default bucket cap, 25 MiB, takes 50 % longer. ");
});

test('of two settings each is told alone', () => {
  // From 1 ms alone 10 %, from the cap alone 1 %, from both 20 %.
  const text = differences([...capsTable({25: 1, 50: 1.01}, 1e-5), ...capsTable({25: 1.1, 50: 1.2}, 1e-3)]);
  assert.match(text, /The slowest takes 20 % longer/);
  assert.match(text, /changing only the bucket cap costs up to 1\.0 %, changing only the network latency costs up to 10 %/);
});

test('points on other numbers of GPUs are no rivals', () => {
  assert.equal(differences([point(8, 0.3), point(16, 0.4)]), '');
});

test('what all documents say stands once, else with their names', () => {
  const said = (name, described, settings) => ({name, content: {context: {described, settings}}});
  const like = [said('a', ['bert'], ['x=1']), said('b', ['bert'], []), {name: 'steps', content: {}}];
  assert.deepEqual(describedLines(like), [{name: null, value: ['bert']}]);
  assert.deepEqual(changedLines(like), [{name: null, value: ['x=1']}]);
  assert.deepEqual(describedLines([said('a', ['bert'], []), said('b', ['gpt2'], [])]).map(({name}) => name), ['a', 'b']);
  assert.deepEqual(describedLines([said('a', null, null), {name: 'plan', content: {described: ['vgg16']}}]),
      [{name: null, value: ['vgg16']}]);
});

test('settings are said in words, but not where they are to be typed', () => {
  assert.equal(inWords('8 GPUs, training.bucket_cap=1MiB, some.other=2'), '8 GPUs, bucket cap 1MiB, some.other=2');
  assert.equal(inWords('a minute (--known "training.bucket_cap=1MiB")'), 'a minute (--known "training.bucket_cap=1MiB")');
});

const plan = (over) => ({catalogue: 'aws', machine: 'p4d', nodes: 1, gpus: 8, pricing: 'on demand', probability: 0.95,
  priced_on: '2026-11-26', ...over});

test('a plan stands once, with every condition under which it is the best', () => {
  const plans = offersOf({best: plan({}), others: [plan({machine: 'g5'})],
    further: [{what: 'without p4d', best: plan({machine: 'g5'})}, {what: 'spot nodes only', best: plan({pricing: 'spot'})},
      {what: 'one node only', best: null}], front: [plan({}), plan({nodes: 2, probability: 0.1})]});
  assert.deepEqual(plans.map((one) => standingOf(one, 0.9)), ['best', 'runner-up; with one more condition: without p4d',
    'with one more condition: spot nodes only (interruptions not counted)', 'cheapest at its speed, misses the targets']);
});

test('a spot plan whose interruptions are counted has no caveat', () => {
  const [one] = offersOf({best: plan({pricing: 'spot', preemptions_per_s: 1e-6})});
  assert.equal(standingOf(one, 0.9), 'best');
});

test('prices have their dates, and a search its size without zeros', () => {
  assert.equal(pricesText([plan({}), plan({catalogue: 'gcp'}), plan({priced_on: '', catalogue: ''})]),
      'Prices of 2026-11-26: aws, gcp.');
  assert.equal(searchText({setups: 16068, predicted: 85, refused: 0, machines: 42}),
      '16,068 plans on 42 machines were compared; 85 were predicted in full.');
  assert.equal(searchText({setups: 9, predicted: 1, refused: 2}),
      '9 plans were compared; 1 was predicted in full; 2 of them cannot run.');
});

test('terms follow one another up to the step, the shortest of many as one', () => {
  // 30 buckets of 1 to 30 ms, 465 ms in all: the 23 longest, and 1 + ... + 7 = 28 ms as one.
  const terms = Array.from({length: 30}, (_, index) => ({name: `exposed: bucket ${index}`, time_s: (index + 1) * 1e-3}));
  const bars = barsOfTerms({step_s: 0.465, terms: [...terms, {name: '2 hidden calls', time_s: 0}]});
  assert.equal(bars.length, 25);
  assert.equal(bars[23].name, '7 shorter terms');
  assert.ok(Math.abs(bars[23].time_s - 0.028) < 1e-12 && Math.abs(bars[23].to - 0.465) < 1e-12);
  assert.ok(bars[0].isExposed && bars[24].isStep);
});
