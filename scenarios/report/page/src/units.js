// Quantities as people write them. Arguments are SI base units: seconds, bytes, bytes per second.

const MISSING = '–';

// Between a number and its unit: lines do not break there.
const GAP = '\u00a0';
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
  return `${number(value / factor)}${GAP}${unit}`;
}

const TIMES = [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']];
const LONG_TIMES = [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'min'], [60, 'min', 1, 's']];

// From two minutes on in two units: "4 h 26 min". Less than a picosecond is what rounding leaves.
export function time(seconds) {
  if (Math.abs(seconds) < 1e-12) return `0${GAP}s`;
  return Math.abs(seconds) < 120 ? scaled(seconds, TIMES) : longTime(seconds);
}

function longTime(seconds) {
  const [large, largeUnit, small, smallUnit] = LONG_TIMES.find(([from]) => Math.abs(seconds) >= from);
  const parts = Math.round(Math.abs(seconds) / small);
  const [first, rest] = [Math.floor(parts * small / large), Math.round(parts % (large / small))];
  const sign = seconds < 0 ? '-' : '';
  return `${sign}${whole.format(first)}${GAP}${largeUnit}${rest > 0 ? `${GAP}${rest}${GAP}${smallUnit}` : ''}`;
}

// Times up to `largest` at even distances of `step`, with as many digits as tell them apart.
export function tickTime(step, largest) {
  const [factor, unit] = TIMES.find(([from]) => largest >= from) ?? TIMES[TIMES.length - 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9));
  return (seconds) => `${(seconds / factor).toFixed(digits)}${GAP}${unit}`;
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
  return `${Math.abs(value) < 10 ? value.toFixed(1) : whole.format(value)}${GAP}%`;
}

const withTenths = (value) => `${value.toFixed(1)}${GAP}%`;

export function signedPercent(value) {
  const text = percent(Math.abs(value) < 0.05 ? 0 : value).replace('-', '−');
  return value >= 0.05 ? `+${text}` : text;
}

export function signedTime(seconds) {
  return seconds >= 1e-12 ? `+${time(seconds)}` : time(seconds).replace('-', '−');
}

const PRINTERS = {
  time,
  bytes,
  rate,
  count: (value) => whole.format(value),
  number,
  perSecond: (value) => `${number(value)}/s`,
  ratio: (value) => `${value >= 100 ? whole.format(value) : number(Number(value.toPrecision(3)))}x`,
  fraction: (value) => `${number(Number((100 * value).toPrecision(3)))}${GAP}%`,
  plainPercent: percent,
  probability: (value) => (value < 0.001 ? `< 0.1${GAP}%` : value > 0.999 ? `> 99.9${GAP}%` : withTenths(100 * value)),
  signedTime,
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
