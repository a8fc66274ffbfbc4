// Points of all documents as one list of flat rows, whose keys are the columns of
// paceline.points/1: an axis under its path, a field under its name.

import {axisLabel, FIELDS, isNumber} from './fields.js';
import {kindOfUnit} from '../units.js';

const some = (value) => (value === undefined ? null : value);

function rowOfPoint(point) {
  const predicted = point.predicted ?? {};
  const measured = point.measured ?? {};
  const row = {
    gpus: some(point.gpus),
    nodes: some(point.nodes),
    predicted_step_s: some(predicted.step_s),
    step_s_low: some(predicted.step_s_low),
    step_s_high: some(predicted.step_s_high),
    measured_step_s: some(measured.step_s),
    predicted_throughput_per_s: some(predicted.throughput_per_s),
    measured_throughput_per_s: some(measured.throughput_per_s),
    tokens_per_s: some(predicted.tokens_per_s),
    predicted_speedup: some(predicted.speedup),
    measured_speedup: some(measured.speedup),
    error_percent: some(point.error_percent),
    compute_s: some(predicted.compute_s),
    communication_s: some(predicted.communication_s),
    exposed_communication_s: some(predicted.exposed_communication_s),
    measured_exposed_communication_s: some(measured.exposed_communication_s),
    measured_compute_s: some(measured.compute_s),
    measured_communication_s: some(measured.communication_s),
    mad_s: some(measured.mad_s),
    memory_bytes: some(predicted.memory?.total_bytes),
    cpu_busy: some(measured.cpu_busy),
    known: measured.known ? true : null,
    fidelity: some(point.fidelity),
    transfers: some(point.transfers),
    checked_by: some(point.checked_by),
    failure: point.failure ?? point.measure_failure ?? null,
    assumed: point.assumed ?? [],
    calls: predicted.calls ?? null,
    measured_calls: measured.calls ?? null,
  };
  for (const axis of point.axes ?? []) if (axis.path !== 'gpus') row[axis.path] = axis.value;
  return row;
}

function tableOfResult(content) {
  const axes = new Map();
  for (const point of content.points ?? []) {
    for (const {path, unit} of point.axes ?? []) axes.set(path, unit);
  }
  return {axes, rows: (content.points ?? []).map(rowOfPoint)};
}

function tableOfStore(content) {
  const axes = new Map(content.columns.filter((column) => column.is_axis)
                           .map((column) => [column.name, column.unit ?? '1']));
  const names = content.columns.map((column) => column.name);
  const rows = content.rows.map((values) => {
    const row = {calls: null, measured_calls: null};
    for (let i = 0; i < names.length; i += 1) row[names[i]] = values[i];
    row.scenario = content.scenarios?.[row.scenario] ?? row.scenario ?? null;
    row.assumed = content.texts?.[row.assumed] ?? [];
    return row;
  });
  return {axes, rows};
}

function derive(row) {
  const efficiency = (speedup) => (isNumber(speedup) && row.gpus > 0 ? speedup / row.gpus : null);
  row.predicted_efficiency = efficiency(row.predicted_speedup);
  row.measured_efficiency = efficiency(row.measured_speedup);
}

function axisOf(name, unit, rows) {
  const values = [...new Set(rows.map((row) => row[name]))].filter(
      (value) => value !== null && value !== undefined);
  const isNumeric = values.length > 0 && values.every(isNumber);
  if (isNumeric) values.sort((a, b) => a - b);
  const kind = name === 'gpus' ? 'count' : isNumeric ? kindOfUnit(unit) : 'text';
  return {name, label: axisLabel(name), kind, isNumeric, values, effect: effectOf(name, rows)};
}

// How much an axis moves the step: the largest over the smallest mean step of its values.
function effectOf(name, rows) {
  const sums = new Map();
  for (const row of rows) {
    const step = row.predicted_step_s ?? row.measured_step_s;
    if (!isNumber(step)) continue;
    const [sum, count] = sums.get(row[name]) ?? [0, 0];
    sums.set(row[name], [sum + step, count + 1]);
  }
  const means = [...sums.values()].map(([sum, count]) => sum / count);
  return means.length === 0 ? 1 : Math.max(...means) / Math.min(...means);
}

// Of axes the one that moves the step most.
export function strongest(axes) {
  return [...axes].sort((a, b) => b.effect - a.effect)[0];
}

const TABLES = {'paceline.result/1': tableOfResult, 'paceline.points/1': tableOfStore};

export function hasPoints(document) {
  return document.content?.schema in TABLES;
}

// {rows, axes, isGrid}: `axes` are those with more than one value. GPUs always are one of them when
// they vary; so are the document and the scenario of a point, where there are several.
export function pointsOf(documents) {
  const rows = [];
  const units = new Map([['gpus', '1'], ['document', ''], ['scenario', '']]);
  for (const document of documents.filter(hasPoints)) {
    const table = TABLES[document.content.schema](document.content);
    for (const [path, unit] of table.axes) units.set(path, unit);
    for (const row of table.rows) {
      row.document = document.name;
      derive(row);
      rows.push(row);
    }
  }
  const axes = [...units].map(([name, unit]) => axisOf(name, unit, rows));
  const varying = axes.filter((axis) => axis.values.length > 1);
  return {rows, axes: varying, isGrid: isGrid(rows, varying)};
}

// Whether there is a point, more or less, at every combination of values; documents have grids of their own.
function isGrid(rows, axes) {
  const cells = axes.filter((axis) => axis.name !== 'document' && axis.name !== 'scenario')
                    .reduce((product, axis) => product * axis.values.length, 1);
  return rows.length >= 0.5 * cells;
}

// The columns that any row has a value for: axes first, then the fields in their order.
export function columnsOf(points) {
  const axes = points.axes.map((axis) => ({name: axis.name, label: axis.label, kind: axis.kind,
    isAxis: true}));
  const taken = new Set(axes.map((axis) => axis.name));
  const has = (name) => points.rows.some((row) => row[name] !== null && row[name] !== undefined &&
                                                  row[name] !== '');
  const fields = Object.entries(FIELDS)
                     .filter(([name]) => !taken.has(name) && has(name) &&
                                         name !== 'document' && name !== 'scenario')
                     .map(([name, [label, kind]]) => ({name, label, kind, isAxis: false}));
  return [...axes, ...fields];
}
