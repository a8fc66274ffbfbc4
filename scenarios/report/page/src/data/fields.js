// What the fields of a point are called on the page, and the kind of their values.
// Names are the columns of paceline.points/1 (scenarios/report/RESULT.md). Tables have them in this order: what
// people look for first, so that it stands before what has to be scrolled to.

export const FIELDS = {
  gpus: ['GPUs', 'count'],
  predicted_step_s: ['predicted step', 'time'],
  measured_step_s: ['measured step', 'time'],
  error_percent: ['error', 'percent'],
  predicted_throughput_per_s: ['predicted samples/s', 'number'],
  measured_throughput_per_s: ['measured samples/s', 'number'],
  predicted_speedup: ['predicted speedup', 'ratio'],
  measured_speedup: ['measured speedup', 'ratio'],
  step_s_low: ['step, 90 % low', 'time'],
  step_s_high: ['step, 90 % high', 'time'],
  exposed_communication_s: ['exposed communication', 'time'],
  measured_exposed_communication_s: ['measured exposed communication', 'time'],
  failure: ['failure', 'text'],
  predicted_efficiency: ['predicted efficiency', 'fraction'],
  measured_efficiency: ['measured efficiency', 'fraction'],
  tokens_per_s: ['predicted tokens/s', 'number'],
  compute_s: ['compute', 'time'],
  measured_compute_s: ['measured compute', 'time'],
  communication_s: ['communication', 'time'],
  measured_communication_s: ['measured communication', 'time'],
  memory_bytes: ['memory per GPU', 'bytes'],
  nodes: ['nodes', 'count'],
  mad_s: ['MAD of measured steps', 'time'],
  cpu_busy: ['CPU busy', 'fraction'],
  known: ['known', 'text'],
  fidelity: ['fidelity', 'text'],
  transfers: ['transfers', 'count'],
  checked_by: ['checked by', 'text'],
  scenario: ['scenario', 'text'],
  document: ['document', 'text'],
  cause: ['cause', 'text'],
};

const intervalOf = (value, row) => value * row.predicted_step_s;

// By throughput: a longer step is a lower value.
const inverse = (field) => (row) => row.step_s_low > 0 && row[field] !== null ?
    [intervalOf(row[field], row) / row.step_s_high, intervalOf(row[field], row) / row.step_s_low] :
    null;

// What a chart may show. `ideal` is a value at `gpus` without any communication, from one GPU's.
export const METRICS = [
  {id: 'speedup', label: 'Speedup', kind: 'ratio', predicted: 'predicted_speedup',
    measured: 'measured_speedup', band: inverse('predicted_speedup'), ideal: (gpus) => gpus},
  {id: 'efficiency', label: 'Efficiency', kind: 'fraction', predicted: 'predicted_efficiency',
    measured: 'measured_efficiency', band: inverse('predicted_efficiency'), ideal: () => 1},
  {id: 'throughput', label: 'Throughput', unit: 'samples/s', kind: 'number',
    predicted: 'predicted_throughput_per_s', measured: 'measured_throughput_per_s',
    band: inverse('predicted_throughput_per_s'),
    ideal: (gpus, row) => gpus * row.predicted_throughput_per_s / row.predicted_speedup},
  {id: 'step', label: 'Step', kind: 'time', predicted: 'predicted_step_s',
    measured: 'measured_step_s',
    band: (row) => (row.step_s_low > 0 ? [row.step_s_low, row.step_s_high] : null)},
  {id: 'exposed', label: 'Exposed communication', kind: 'time',
    predicted: 'exposed_communication_s', measured: 'measured_exposed_communication_s'},
  {id: 'communication', label: 'Communication', kind: 'time', predicted: 'communication_s',
    measured: 'measured_communication_s'},
  {id: 'compute', label: 'Compute', kind: 'time', predicted: 'compute_s', measured: 'measured_compute_s'},
  {id: 'memory', label: 'Memory per GPU', kind: 'bytes', predicted: 'memory_bytes'},
  {id: 'error', label: 'Error of throughput', kind: 'percent', predicted: 'error_percent',
    isSigned: true},
];

// The metrics that any of these points has.
export function metricsOf(rows) {
  return METRICS.filter(
      (metric) => rows.some((row) => isNumber(row[metric.predicted]) ||
                                     isNumber(row[metric.measured])));
}

export function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

const AXIS_NAMES = {
  'gpus': 'GPUs',
  'cluster.network.bandwidth': 'network bandwidth',
  'cluster.network.latency': 'network latency',
  'training.bucket_cap': 'bucket cap',
  'training.strategy': 'strategy',
  'workload.batch_per_gpu': 'batch per GPU',
};

// A setting in words: "8 GPUs", "bucket cap 25MiB". The value as it is to be read.
export function settingText(name, value) {
  return name === 'gpus' ? `${value} ${String(value) === '1' ? 'GPU' : 'GPUs'}` : `${axisLabel(name)} ${value}`;
}

export function axisLabel(name) {
  return AXIS_NAMES[name] ?? name;
}

// A text that names settings by their paths, in words: "training.bucket_cap=25MiB" is "bucket cap 25MiB". What is to
// be typed stays as it is.
export function inWords(text) {
  const typed = text.indexOf(' (--');
  const [said, rest] = typed < 0 ? [text, ''] : [text.slice(0, typed), text.slice(typed)];
  return said.replace(/\b([a-z_]+(?:\.[a-z_]+)+)=/g, (whole, path) => (path in AXIS_NAMES ? `${AXIS_NAMES[path]} ` : whole)) +
      rest;
}
