// All points: sorted, filtered, a page at a time. Thousands of rows stay rows of data; only those
// of the page become elements.

import {html} from '../dom.js';
import {columnsOf} from '../data/points.js';
import {print} from '../units.js';
import {dataCell} from './plans.js';
import {scrolling} from './section.js';

const PAGE = 50;
const PAPER = 500;

// What fits on paper; other columns are on the screen only.
const ON_PAPER = ['gpus', 'predicted_step_s', 'step_s_low', 'step_s_high', 'measured_step_s',
  'predicted_throughput_per_s', 'measured_throughput_per_s', 'predicted_speedup', 'error_percent',
  'exposed_communication_s', 'failure'];

const isRare = (column) => !column.isAxis && !ON_PAPER.includes(column.name);

const isText = (kind) => kind === 'text';

function compare(a, b) {
  const missing = (value) => value === null || value === undefined || Number.isNaN(value);
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}

// What is compared: "25 MiB", "25MiB" and "25mib" are the same.
const plain = (text) => text.toLowerCase().replace(/\s+/g, '');

// The cells of a row, printed once, when somebody filters.
function cellsOf(row, columns) {
  row.cells ??= columns.map((column) => plain(print(column.kind, row[column.name])));
  return row.cells;
}

// "gpus=8, ring": rows with 8 GPUs, and a cell that contains "ring". Returns a claim for each.
function claimsOf(text, columns) {
  return text.split(/,(?!\d{3}\b)/).map(plain).filter(Boolean).map((part) => {
    const [name, value] = part.split('=');
    const at = columns.findIndex((column) => plain(column.label) === name || plain(column.name) === name);
    if (value !== undefined && at >= 0) return (cells) => cells[at] === value;
    return (cells) => cells.some((cell) => cell.includes(part));
  });
}

export class PointsTable {
  constructor(points) {
    this.rows = points.rows;
    this.shown = points.rows;
    this.columns = columnsOf(points);
    this.size = PAGE;
    this.page = 0;
    this.sorted = {column: null, descending: false};
    this.head = html('tr');
    this.body = html('tbody');
    this.count = html('p', {class: 'count', 'aria-live': 'polite'});
    this.search = html('input', {type: 'search', id: 'filter', placeholder: 'gpus=8, or what a cell contains',
      input: () => this.filter(this.search.value)});
    this.back = html('button', {type: 'button', click: () => this.turn(-1)}, 'Previous');
    this.next = html('button', {type: 'button', click: () => this.turn(1)}, 'Next');
    this.drawHead();
    this.draw();
    addEventListener('beforeprint', () => this.resize(PAPER));
    addEventListener('afterprint', () => this.resize(PAGE));
  }

  element() {
    return html('div', {},
        html('div', {class: 'controls'},
            html('span', {class: 'control'}, html('label', {for: 'filter'}, 'Filter'), this.search),
            html('span', {class: 'pager'}, this.back, this.next)), this.count,
        scrolling('All points', html('table', {class: 'data points'}, html('thead', {}, this.head), this.body)));
  }

  resize(size) {
    this.size = size;
    this.page = 0;
    this.draw();
  }

  turn(pages) {
    this.page += pages;
    this.draw();
  }

  filter(text) {
    const claims = claimsOf(text, this.columns);
    this.shown = claims.length === 0 ? this.rows : this.rows.filter(
        (row) => claims.every((holds) => holds(cellsOf(row, this.columns))));
    this.order();
  }

  sort(column) {
    const again = this.sorted.column === column;
    this.sorted = {column, descending: again && !this.sorted.descending};
    this.drawHead();
    this.order();
    this.head.querySelector(`[data-column="${this.columns.indexOf(column)}"]`).focus();
  }

  order() {
    const {column, descending} = this.sorted;
    if (column) {
      const sign = descending ? -1 : 1;
      this.shown = [...this.shown].sort((a, b) => sign * compare(a[column.name], b[column.name]));
    }
    this.page = 0;
    this.draw();
  }

  drawHead() {
    this.head.replaceChildren(...this.columns.map((column, index) => {
      const isSorted = this.sorted.column === column;
      const order = !isSorted ? 'none' : this.sorted.descending ? 'descending' : 'ascending';
      return html('th', {scope: 'col', 'aria-sort': order,
        class: (isText(column.kind) ? 'text' : 'number') + (isRare(column) ? ' rare' : '')},
          html('button', {type: 'button', 'data-column': index, click: () => this.sort(column)}, column.label,
              html('span', {class: 'arrow', 'aria-hidden': 'true'},
                  isSorted ? (this.sorted.descending ? ' ▼' : ' ▲') : '')));
    }));
  }

  draw() {
    const pages = Math.max(1, Math.ceil(this.shown.length / this.size));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const first = this.page * this.size;
    const rows = this.shown.slice(first, first + this.size);
    const cells = (row) => this.columns.map((column) => dataCell(column.kind, row[column.name], isRare(column)));
    this.body.replaceChildren(...rows.map((row) => html('tr', {}, cells(row))));
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    const whole = (value) => print('count', value);
    const of = this.shown.length === this.rows.length ? '' : ` (of ${whole(this.rows.length)})`;
    this.count.textContent = rows.length === 0 ? `no point matches${of}` :
        `${whole(first + 1)} to ${whole(first + rows.length)} of ${whole(this.shown.length)}${of}`;
  }
}
