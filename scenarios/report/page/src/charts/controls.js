// Selectors above charts.

import {settingText} from '../data/fields.js';
import {strongest} from '../data/points.js';
import {html} from '../dom.js';
import {print} from '../units.js';

let ids = 0;

// options: [{value, label}] by position; calls `change` with the chosen value.
export function selector(label, options, chosen, change) {
  ids += 1;
  const control = html('select', {id: `select-${ids}`,
    change: () => change(options[Number(control.value)].value)},
      options.map((option, index) => html('option',
          {value: index, selected: option.value === chosen}, option.label)));
  return html('span', {class: 'control'}, html('label', {for: `select-${ids}`}, label), control);
}

// A box to tick; `set` moves it without a call of `change`.
export function toggle(label, change) {
  ids += 1;
  const box = html('input', {type: 'checkbox', id: `toggle-${ids}`, change: () => change(box.checked)});
  const element = html('span', {class: 'control'}, box, html('label', {for: box.id}, label));
  return {element, set: (isOn) => { box.checked = isOn; }};
}

// Held at no value: the fastest point counts. So charts begin where points are a sample of a grid.
const FASTEST = Symbol('fastest');

// Where something was measured, so that charts show it at first; else in the middle.
function startOf(axis, rows) {
  const measured = rows.filter((row) => row.measured_throughput_per_s > 0).at(-1);
  return measured?.[axis.name] ?? middle(axis.values);
}

// Which axis makes series, and at what values the others are held. Axes with one value left
// over need no control.
export class Slice {
  constructor(points, except, changed, {hasSeries = true} = {}) {
    this.points = points;
    this.changed = changed;
    this.box = html('span', {class: 'slice'});
    this.held = new Map();
    this.except = except;
    this.hasSeries = hasSeries;
    this.series = hasSeries ? null : '';
    this.reset();
  }

  axes() {
    return this.points.axes.filter((axis) => !this.except.includes(axis.name));
  }

  // Other axes are taken by the chart itself from now on.
  take(except) {
    this.except = except;
    this.reset();
  }

  reset() {
    const axes = this.axes();
    const isFree = axes.some((axis) => axis.name === this.series);
    if (!isFree && this.series !== '') this.series = this.preferredSeries(axes);
    for (const axis of axes) {
      if (!this.held.has(axis.name)) this.held.set(axis.name, this.points.isGrid ? startOf(axis, this.points.rows) : FASTEST);
    }
    this.box.replaceChildren(...this.controls(axes));
  }

  // Documents first, else the axis that moves the step most.
  preferredSeries(axes) {
    const named = axes.find((axis) => axis.name === 'document' || axis.name === 'scenario');
    return (named ?? strongest(axes))?.name ?? null;
  }

  controls(axes) {
    const change = (act) => (value) => {
      act(value);
      this.box.replaceChildren(...this.controls(this.axes()));
      this.changed();
    };
    const made = [];
    if (axes.length > 0 && this.hasSeries) {
      made.push(selector('Lines by', [...axes.map((axis) => ({value: axis.name, label: axis.label})),
        {value: '', label: 'none'}], this.series, change((name) => { this.series = name; })));
    }
    for (const axis of axes.filter((one) => one.name !== this.series)) {
      made.push(selector(axis.label, [...axis.values.map((value) => ({value, label: print(axis.kind, value)})),
        {value: FASTEST, label: 'fastest'}], this.held.get(axis.name),
          change((value) => this.held.set(axis.name, value))));
    }
    return made;
  }

  // The rows at the held values, in groups: [{name, rows}].
  groups() {
    const fixed = this.axes().filter((axis) => axis.name !== this.series);
    const held = fixed.filter((axis) => this.held.get(axis.name) !== FASTEST);
    const rows = this.points.rows.filter(
        (row) => held.every((axis) => isAt(row, axis.name, this.held.get(axis.name))));
    const axis = this.axes().find((one) => one.name === this.series);
    const kept = held.length === fixed.length ? rows : fastest(rows, [...this.except, this.series]);
    return this.grouped(axis, kept);
  }

  grouped(axis, rows) {
    if (!axis) return [{name: 'predicted', rows}];
    const nameOf = (value) => (axis.name === 'gpus' ? settingText('gpus', value) : print(axis.kind, value));
    return axis.values.map((value) => ({name: nameOf(value),
      rows: rows.filter((row) => isAt(row, axis.name, value))})).filter((group) => group.rows.length > 0);
  }
}

const throughputOf = (row) => row.predicted_throughput_per_s ?? row.measured_throughput_per_s ?? 0;

// Of rows that are alike on the chart's own axes the one with the highest throughput.
function fastest(rows, names) {
  const best = new Map();
  for (const row of rows) {
    const key = names.map((name) => row[name]).join('\t');
    const known = best.get(key);
    if (!known || throughputOf(row) > throughputOf(known)) best.set(key, row);
  }
  return [...best.values()];
}

function middle(values) {
  return values[Math.floor((values.length - 1) / 2)];
}

// A row of a document without this axis stands at all of its values.
function isAt(row, name, value) {
  return row[name] === value || row[name] === undefined;
}
