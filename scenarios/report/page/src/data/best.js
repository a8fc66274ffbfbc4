// The fastest points, and how far the others lie from them.

import {axisLabel, isNumber, settingText} from './fields.js';
import {bytes, percent, print} from '../units.js';

// Predicted figures; of a point that was only measured, those.
export const isPredicted = (row) => isNumber(row.predicted_throughput_per_s);
export const throughputOf =
    (row) => (isPredicted(row) ? row.predicted_throughput_per_s : row.measured_throughput_per_s);
export const speedupOf = (row) => (isPredicted(row) ? row.predicted_speedup : row.measured_speedup);
export const stepOf = (row) => (isPredicted(row) ? row.predicted_step_s : row.measured_step_s);

// For each number of GPUs the fastest point, ordered by that number.
export function fastestByGpus(rows) {
  const best = new Map();
  for (const row of rows.filter((one) => isNumber(throughputOf(one)))) {
    const known = best.get(row.gpus);
    if (!known || throughputOf(row) > throughputOf(known)) best.set(row.gpus, row);
  }
  return [...best.values()].sort((a, b) => a.gpus - b.gpus);
}

// The point that the answer names: the fastest on the most GPUs. null: no point has a result.
export function namedPoint(rows) {
  return fastestByGpus(rows).pop() ?? null;
}

// The answer says the GPUs and the document by themselves.
const isSetting = (axis) => !['gpus', 'document'].includes(axis.name);

export function settingsOf(row, axes) {
  return axes.filter((axis) => isSetting(axis) && row[axis.name] !== undefined)
      .map((axis) => settingText(axis.name, print(axis.kind, row[axis.name]))).join(', ');
}

// The points that the named one was chosen from: as many GPUs, one document.
export function peersOf(best, rows) {
  return rows.filter((row) => row.gpus === best.gpus && row.document === best.document && isNumber(throughputOf(row)));
}

// How much longer a point takes for a sample, as a part: 0.02 is 2 %.
const longer = (row, best) => throughputOf(best) / throughputOf(row) - 1;

// From 100 % on as a factor.
function longerText(part) {
  return part < 1 ? `${percent(100 * part)} longer` : `${print('ratio', 1 + part).replace('x', '')} times as long`;
}

// The standard deviation of what a GPU takes from step to step (scenarios/prepare/overheads.h: gpu_spread).
const SPREAD_OF_STEPS = 0.032;

// bucket_cap_mb of torch.nn.parallel.DistributedDataParallel, whose MB are MiB.
const DEFAULT_CAP = 25 * 2 ** 20;

function spreadText(best, peers) {
  const most = Math.max(...peers.map((row) => longer(row, best)));
  if (most >= SPREAD_OF_STEPS) {
    return `The ${peers.length === 2 ? 'other' : 'slowest'} takes ${longerText(most)} per sample. `;
  }
  const all = peers.length === 2 ? 'Both' : `All ${print('count', peers.length)}`;
  return `${all} lie within ${percent(100 * most)}, less than the steps of one run usually differ by (${
    percent(100 * SPREAD_OF_STEPS)}): the choice hardly matters. `;
}

const isLike = (row, best, axes) => axes.every((axis) => row[axis.name] === best[axis.name]);

// What each setting costs at most while the others stay as the best point has them.
function settingsText(best, peers, axes) {
  if (axes.length < 2) return '';
  const costs = axes.map((axis) => {
    const like = peers.filter((row) => isLike(row, best, axes.filter((one) => one !== axis)));
    return {axis, like, most: Math.max(...like.map((row) => longer(row, best)))};
  }).filter(({like}) => like.length > 1);
  if (costs.length === 0) return '';
  const parts = costs.map(({axis, most}) => `only the ${axis.label} costs up to ${percent(100 * most)}`);
  return `From there, changing ${parts.join(', changing ')}. `;
}

function defaultText(best, peers, axes) {
  const cap = axes.find((axis) => axis.name === 'training.bucket_cap');
  if (!cap) return '';
  if (best[cap.name] === DEFAULT_CAP) return `${bytes(DEFAULT_CAP)} is PyTorch's default. `;
  const row = peers.find((one) => one[cap.name] === DEFAULT_CAP && isLike(one, best, axes.filter((axis) => axis !== cap)));
  return row ? `PyTorch's default ${axisLabel(cap.name)}, ${bytes(DEFAULT_CAP)}, takes ${longerText(longer(row, best))}. ` :
               '';
}

// How far the other points on as many GPUs lie from the best, and whether that matters; '' where there are none.
export function differencesText(best, rows, axes) {
  const peers = peersOf(best, rows);
  const settings = axes.filter(isSetting);
  if (peers.length < 2 || settings.length === 0) return '';
  const spread = spreadText(best, peers);
  const byDefault = defaultText(best, peers, settings);
  // Where the default is the only other point, one sentence says it.
  if (peers.length === 2 && spread.startsWith('The other') && byDefault.startsWith('PyTorch')) return byDefault;
  return spread + settingsText(best, peers, settings) + byDefault;
}
