// Quantities as people write them. Arguments are SI base units: seconds, bytes, bytes per second.

const MISSING = '–';
const four = new Intl.NumberFormat('en-US', {maximumSignificantDigits: 4});
const whole = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0});

// Four significant digits; whole numbers in full.
export function number(value) {
  return Math.abs(value) >= 1000 ? whole.format(value) : four.format(value);
}

function scaled(value, steps) {
  const size = Math.abs(value);
  // 0.99995 rounds to the next step's 1.
  const [factor, unit] = steps.find(([at]) => size >= at * 0.99995) ?? steps[steps.length - 1];
  return `${number(value / factor)} ${unit}`;
}

const TIMES = [[86400 * 3, 'd', 86400], [3600, 'h', 3600], [120, 'min', 60], [1, 's', 1],
  [1e-3, 'ms', 1e-3], [1e-6, 'us', 1e-6], [1e-9, 'ns', 1e-9]];

export function time(seconds) {
  if (seconds === 0) return '0 s';
  const size = Math.abs(seconds) * 1.00005;
  const [, unit, factor] = TIMES.find(([from]) => size >= from) ?? TIMES[TIMES.length - 1];
  return `${number(seconds / factor)} ${unit}`;
}

const BINARY = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];
const DECIMAL = [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];

export function bytes(value) {
  const isDecimal = value % 1000 === 0 && value % 1024 !== 0;
  return scaled(value, isDecimal ? DECIMAL : BINARY);
}

const BITS = [[1e9, 'Gbps'], [1e6, 'Mbps'], [1e3, 'kbps']];

export function rate(bytesPerSecond) {
  return scaled(bytesPerSecond * 8, BITS);
}

export function percent(value) {
  return `${Math.abs(value) < 10 ? value.toFixed(1) : whole.format(value)} %`;
}

export function signedPercent(value) {
  const text = percent(Math.abs(value) < 0.05 ? 0 : value).replace('-', '−');
  return value >= 0.05 ? `+${text}` : text;
}

export function signedTime(seconds) {
  return seconds > 0 ? `+${time(seconds)}` : time(seconds).replace('-', '−');
}

const PRINTERS = {
  time,
  bytes,
  rate,
  count: (value) => whole.format(value),
  number,
  perSecond: (value) => `${number(value)}/s`,
  ratio: (value) => `${number(Number(value.toPrecision(3)))}x`,
  fraction: (value) => percent(100 * value),
  percent: signedPercent,
  text: String,
};

// A value of any kind, a missing one as a dash.
export function print(kind, value) {
  if (value === null || value === undefined || Number.isNaN(value)) return MISSING;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return String(value);
  return (PRINTERS[kind] ?? number)(value);
}

const KIND_OF_UNIT = {'s': 'time', 'B': 'bytes', 'B/s': 'rate', '1': 'number', '': 'text'};

export function kindOfUnit(unit) {
  return KIND_OF_UNIT[unit] ?? 'number';
}
