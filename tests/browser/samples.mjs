// Payloads that the tests open: made up, so that every section and every kind of text is there.

const HOSTILE = '<img src=x onerror=alert(1)>';
const BREAKING = '</script><script>alert(2)</script>';

// A step of 280 ms compute and a ring over a link of 10 GB/s: enough of a shape for charts.
function stepOf(gpus, latency, bandwidth, bucket) {
  const compute = 0.28;
  const transfer = gpus === 1 ? 0 : 2 * (gpus - 1) / gpus * 440e6 / bandwidth;
  const communication = transfer + (gpus === 1 ? 0 : 440e6 / bucket * 2 * (gpus - 1) * latency);
  const exposed = Math.max(communication - 0.6 * compute, 0.1 * communication);
  return {compute, communication, exposed, step: compute + exposed};
}

const throughput = (gpus, step) => 32 * gpus / step;

// 10,000 points: ten values on each of four axes.
export function storePayload() {
  const gpus = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
  const latencies = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3];
  const bandwidths = [1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400].map((gbps) => gbps * 1e9 / 8);
  const buckets = [1, 2, 5, 10, 15, 25, 50, 100, 200, 400].map((mib) => mib * 2 ** 20);
  const names = ['nodes', 'predicted_step_s', 'compute_s', 'communication_s', 'exposed_communication_s',
    'predicted_throughput_per_s', 'predicted_speedup', 'error_percent', 'transfers', 'fidelity', 'step_s_low',
    'step_s_high', 'failure', 'scenario', 'assumed'];
  const rows = [];
  for (const count of gpus) for (const latency of latencies) for (const bandwidth of bandwidths) {
    for (const bucket of buckets) {
      const {compute, communication, exposed, step} = stepOf(count, latency, bandwidth, bucket);
      rows.push([count, latency, bandwidth, bucket, Math.ceil(count / 8), step, compute, communication, exposed,
        throughput(count, step), throughput(count, step) / throughput(1, compute), null, 2 * count, 'folded',
        step * 0.8, step * 1.3, null, 0, rows.length % 50]);
    }
  }
  const axes = [['gpus', '1'], ['cluster.network.latency', 's'], ['cluster.network.bandwidth', 'B/s'],
    ['training.bucket_cap', 'B']];
  const content = {schema: 'paceline.points/1', rows, scenarios: ['made up'],
    columns: [...axes.map(([name, unit]) => ({name, unit, is_axis: true})),
      ...names.map((name) => ({name, is_axis: false}))],
    texts: Array.from({length: 50}, (_, index) => [`assumption ${index}`, 'an assumption of all points'])};
  return payload('10,000 points', [{name: 'points.json', content}]);
}

function pointOf(gpus, strategy) {
  const {compute, communication, exposed, step} = stepOf(gpus, 5e-6, 1e10, 25 * 2 ** 20);
  const measured = step * 1.04;
  return {axes: [{path: 'gpus', unit: '1', value: gpus}, {path: 'training.strategy', unit: '', value: strategy}],
    gpus, nodes: Math.ceil(gpus / 8),
    predicted: {step_s: step, step_s_low: step * 0.9, step_s_high: step * 1.15, compute_s: compute,
      communication_s: communication, exposed_communication_s: exposed, throughput_per_s: throughput(gpus, step),
      speedup: throughput(gpus, step) / throughput(1, compute), calls: gpus === 1 ? [] : [{name: HOSTILE,
        collective: 'all_reduce', size_bytes: 25 * 2 ** 20, algorithm: 'ring', start_s: 0.1, end_s: 0.25,
        transfer_s: 0.15, skew_s: 0}]},
    measured: {step_s: measured, throughput_per_s: throughput(gpus, measured), speedup: null, known: false},
    error_percent: 4, transfers: 1, fidelity: 'folded', checked_by: 'simgrid', assumed: [`${HOSTILE} is assumed`],
    failure: gpus === 64 ? `${BREAKING} failed` : undefined};
}

function result(strategies) {
  return {schema: 'paceline.result/1', context: {host: HOSTILE, commit: 'abc123', settings: [BREAKING], described: [HOSTILE, 'v100, 4 per node']},
    complete: true, points: strategies.flatMap((one) => [1, 8, 16, 32, 64].map((gpus) => pointOf(gpus, one)))};
}

// A traced step: hundreds of spans of a backward, buckets, and one name that is hostile.
function stepsContent() {
  const spans = [{lane: 0, name: 'forward', kind: 'forward', start_s: 0, end_s: 0.09}];
  for (let layer = 0; layer < 400; layer += 1) {
    spans.push({lane: 0, name: layer === 0 ? HOSTILE : `backward of layer ${layer}`, kind: 'backward',
      start_s: 0.09 + layer * 4e-4, end_s: 0.09 + (layer + 1) * 4e-4});
  }
  for (let bucket = 0; bucket < 4; bucket += 1) {
    spans.push({lane: 1, name: `bucket ${bucket}`, kind: 'collective', start_s: 0.12 + bucket * 0.04,
      end_s: 0.155 + bucket * 0.04, bytes: 25 * 2 ** 20, collective: 'all_reduce', algorithm: 'ring',
      waited_for: `backward of layer ${100 * bucket}`});
  }
  const before = (span) => spans.findIndex((one) => one.name === span.waited_for);
  const rank = (number) => ({rank: number, stands_for: 8, start_s: spans.map((span) => span.start_s),
    end_s: spans.map((span) => span.end_s), released_by: spans.map((span) => (before(span) < 0 ? null : before(span)))});
  const operations = spans.map(({start_s: _start, end_s: _end, waited_for: _waited, ...operation}) => operation);
  const lanes = [{name: 'compute', kind: 'compute'}, {name: 'communication', kind: 'communication'}];
  const step = (origin) => ({point: '8 GPUs', gpus: 8, origin, step_s: 0.29, lanes, operations, ranks: [rank(0), rank(1)]});
  return {schema: 'paceline.steps/1', steps: [step('measured'), step('predicted')]};
}

export function payload(title, documents, scenario = null) {
  return {schema: 'paceline.report/1', title, command: 'paceline run made-up.yaml --html page.html',
    made_by: 'paceline 0.1.0 (abc123)', scenario, documents};
}

export function hostilePayload() {
  return payload(`${HOSTILE} ${BREAKING} {{js}}`, [
    {name: `${HOSTILE}.json`, content: result(['ddp', BREAKING])},
    {name: 'steps.json', content: stepsContent()},
    {name: 'other.json', content: {schema: 'another/1', text: HOSTILE}}], `name: ${BREAKING}\n`);
}

export function smallPayload() {
  return payload('A run', [{name: 'result.json', content: result(['ddp'])}]);
}

function planOf(machine, nodes, pricing, time, cost) {
  return {catalogue: 'aws', machine, region: 'us-east-1', device: 'v100', nodes, gpus: 8 * nodes, pricing, priced_on: '2026-11-26',
    price_per_node_hour: 10, strategy: 'ddp', bucket_cap: '25MiB', batch_per_gpu: 32, passes: 1, step_s: 0.3,
    throughput_per_s: 32 * 8 * nodes / 0.3, time_s: time, time_s_limit: 1.3 * time, cost, cost_limit: 1.3 * cost,
    probability: 0.95, assumptions: [`${HOSTILE} is assumed`]};
}

// Plans with a spot price, a hostile machine and a condition.
export function planPayload() {
  const content = {schema: 'paceline.capacity/1', job: BREAKING, samples: 1e8, described: [HOSTILE], probability: 0.9,
    currency: 'USD', targets: {deadline_s: 86400, throughput_per_s: null, budget: null}, best: planOf('p3', 4, 'on demand', 30000, 90),
    nearest: null, others: [planOf(HOSTILE, 2, 'on demand', 50000, 110)], nearby: null, front: [planOf('p3', 16, 'on demand', 9000, 150)],
    may_win: null, further: [{what: 'spot nodes only', best: planOf('p3', 4, 'spot', 30000, 30)}], settling: [],
    by_nodes: [1, 2, 4, 8].map((nodes) => ({plan: planOf(HOSTILE, nodes, 'on demand', 9e4 / nodes ** 0.7, 90 * nodes ** 0.3),
      efficiency: nodes ** -0.3})), knee_nodes: 8, inefficient_from_nodes: 4,
    left_out: [{machine: HOSTILE, why: BREAKING}], setups: 1, predicted: 1, refused: 0};
  return payload('A plan', [{name: 'plan.json', content}], `name: ${HOSTILE}\n`);
}

// One prediction explained, and advice for it.
export function explanationPayload() {
  const prediction = {scenario: 'made-up.yaml', settings: [`training.bucket_cap=${HOSTILE}`], gpus: 8, step_s: 0.29, step_s_low: 0.25,
    step_s_high: 0.35, throughput_per_s: 882, speedup: 7.7};
  const call = {name: HOSTILE, collective: 'all_reduce', size_bytes: 25 * 2 ** 20, algorithm: 'ring', chosen_by: BREAKING, ready_s: 0.1,
    start_s: 0.1, end_s: 0.25, exposed_s: 0.02, waited_for: HOSTILE, alone: {time_s: 0.15, start_s: 0.01, latency_s: 0.04,
      bandwidth_s: 0.1, rounds: 14, busiest_link: {name: 'NIC', shared_by: '4 GPUs', bandwidth_bytes_per_s: 1e9}}};
  const explanation = {schema: 'paceline.explanation/1', ...prediction, rank: 0,
    terms: [['forward and backward', 0.28], ['slowest rank', -0.01], ['exposed: bucket 1', 0.02]].map(([name, time]) => (
        {name, time_s: time, share: time / 0.29, formula: HOSTILE, source: BREAKING})),
    calls: [call, {...call, name: 'bucket 0', alone: null}],
    without: [{what: 'latency of links', settings: ['cluster.network.latency=0us'], step_s: 0.28, refused: null},
      {what: 'contention', settings: ['contention=off'], step_s: null, refused: BREAKING}],
    interval: [{quantity: HOSTILE, low: -0.1, high: 0.2, share: 0.9}, {quantity: 'the host', low: 0, high: 0, share: 0}]};
  const advice = {schema: 'paceline.advice/1', complete: true, ...prediction, limit: {by: 'compute',
    parts: [{name: HOSTILE, time_s: 0.29}], exposed_calls: [{name: HOSTILE, size_bytes: 1, in_flight_s: 0.1, exposed_s: 0.02}]},
  suggestions: [{option: null, alters_training: true, settings: ['training.gradient_accumulation=8'], command: BREAKING,
    step_s: 0.27, throughput_per_s: 900, gain: {throughput: 0.02, low: 0.01, high: 0.1}}], variants: 2};
  return payload('One prediction', [{name: 'explanation.json', content: explanation}, {name: 'advice.json', content: advice}]);
}

// Nine bucket caps whose steps lie within 2.6 %, in intervals that are far wider, and the traced step of each: 50 MiB is fastest.
export function capsPayload() {
  const caps = [1, 5, 10, 25, 50, 75, 125, 200, 500];
  const steps = [1.574, 1.565, 1.56, 1.552, 1.548, 1.549, 1.552, 1.557, 1.588];
  const points = caps.map((cap, index) => ({axes: [{path: 'training.bucket_cap', unit: 'B', value: cap * 2 ** 20}], gpus: 32, nodes: 8,
    predicted: {step_s: steps[index], step_s_low: 0.65 * steps[index], step_s_high: 1.59 * steps[index], compute_s: 0.35,
      communication_s: 1.3, exposed_communication_s: steps[index] - 0.35, throughput_per_s: 256 / steps[index], speedup: 6.5, calls: []},
    measured: null, assumed: []}));
  const traced = caps.map((cap, index) => ({...stepsContent().steps[1], step_s: steps[index], gpus: 32,
    point: `32 GPUs, training.bucket_cap=${cap}MiB`}));
  return payload('Bucket caps', [{name: 'result.json', content: {schema: 'paceline.result/1', context: {}, complete: true, points}},
    {name: 'steps.json', content: {schema: 'paceline.steps/1', steps: traced}}]);
}
