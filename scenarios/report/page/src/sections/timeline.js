// One step over time, predicted above measured; zoomed by wheel, drag, keys and buttons.

import {max} from 'd3-array';
import {scaleLinear} from 'd3-scale';
import {select} from 'd3-selection';
import {zoom, zoomIdentity} from 'd3-zoom';
import {html} from '../dom.js';
import {figure} from '../charts/figure.js';
import {selector} from '../charts/controls.js';
import {drawTimeline} from '../charts/timeline_chart.js';
import {namedPoint} from '../data/best.js';
import {inWords} from '../data/fields.js';
import {timelinesOf} from '../data/steps.js';
import {section} from './section.js';

// Until a millionth of the step is as wide as the chart.
const CLOSEST = 1e6;
const ZOOM_STEP = 1.6;

// When the last span of any rank ends, or the step.
const endOf = ({steps}) => max(steps, (step) => Math.max(step.step_s ?? 0,
    max(step.ranks, (rank) => max(rank.spans, (span) => span.end_s)) ?? 0));

function rankOptions(timeline) {
  const ranks = new Map();
  for (const {rank, stands_for: count} of timeline.steps.flatMap((step) => step.ranks)) {
    if (!ranks.has(rank)) ranks.set(rank, count > 1 ? `${rank} (stands for ${count})` : String(rank));
  }
  return [...ranks].sort((a, b) => a[0] - b[0]).map(([value, label]) => ({value, label}));
}

// Scrolling past the chart stays scrolling: the wheel zooms once the chart is clicked, or with Ctrl;
// a finger drags it then, two fingers always.
function isMeant(event, plot) {
  if (event.type === 'wheel') return event.ctrlKey || event.metaKey || document.activeElement === plot;
  if (event.type.startsWith('touch')) return event.touches.length > 1 || document.activeElement === plot;
  return !event.button;
}

// The timeline that shows the point that the answer names; else the last one. Steps are found by their length, which
// two documents write alike.
function firstShown(timelines, points) {
  const best = points.rows.length > 0 ? namedPoint(points.rows) : null;
  const isBest = ({gpus, origin, step_s: step}) => origin === 'predicted' && (gpus ?? best.gpus) === best.gpus &&
      Math.abs(step - best.predicted_step_s) <= 1e-9 * step;
  return (best && timelines.find(({steps}) => steps.some(isBest))) ?? timelines[timelines.length - 1];
}

class Timeline {
  constructor(timelines, shown) {
    this.timelines = timelines;
    this.transform = zoomIdentity;
    this.box = html('span', {class: 'slice'});
    const button = (name, act) => html('button', {type: 'button', click: act}, name);
    this.chart = figure({title: 'One step', wide: true, keys: (event) => this.key(event),
      hint: 'Plus and minus zoom, left and right move, up and down read the spans',
      caption: 'Click the chart, then zoom with the wheel or + and −, and move with ← and →; ' +
          '↑ and ↓ read the spans.',
      controls: [this.box, html('span', {class: 'pager'}, button('Zoom in', () => this.scale(ZOOM_STEP)),
          button('Zoom out', () => this.scale(1 / ZOOM_STEP)), button('Whole step', () => this.reset()))],
      draw: ({root, width}) => this.draw(root, width)});
    this.zoom = zoom().scaleExtent([1, CLOSEST]).filter((event) => isMeant(event, this.chart.plot))
                    .on('zoom', (event) => this.moved(event.transform));
    this.select(shown);
    this.area = select(this.chart.plot);
    this.area.call(this.zoom);
    this.chart.plot.addEventListener('pointerdown', () => this.chart.plot.focus({preventScroll: true}));
  }

  select(timeline) {
    this.timeline = timeline;
    this.end = endOf(timeline);
    const ranks = rankOptions(timeline);
    this.rank = ranks.some(({value}) => value === this.rank) ? this.rank : ranks[0]?.value;
    this.box.replaceChildren(...[
      this.timelines.length < 2 ? null : selector('Point',
          this.timelines.map((one) => ({value: one, label: inWords(one.point)})), timeline,
          (chosen) => { this.select(chosen); this.reset(); }),
      ranks.length < 2 ? null : selector('Rank', ranks, this.rank,
          (chosen) => { this.rank = chosen; this.chart.redraw(); }),
    ].filter(Boolean));
  }

  draw(root, width) {
    const whole = scaleLinear([0, this.end], [0, width]);
    this.zoom?.extent([[0, 0], [width, 100]]).translateExtent([[0, 0], [width, 100]]);
    return drawTimeline({root, width, steps: this.timeline.steps, rank: this.rank, x: this.transform.rescaleX(whole),
      point: inWords(this.timeline.point)});
  }

  moved(transform) {
    this.transform = transform;
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.chart.redraw();
    });
  }

  scale(factor) { this.area.call(this.zoom.scaleBy, factor); }

  reset() {
    this.area.call(this.zoom.transform, zoomIdentity);
    this.chart.redraw();
  }

  // Whether the key was for the timeline.
  key(event) {
    const width = this.chart.plot.clientWidth;
    const keys = {
      '+': () => this.scale(ZOOM_STEP),
      '=': () => this.scale(ZOOM_STEP),
      '-': () => this.scale(1 / ZOOM_STEP),
      '0': () => this.reset(),
      'ArrowLeft': () => this.area.call(this.zoom.translateBy, width / 6 / this.transform.k, 0),
      'ArrowRight': () => this.area.call(this.zoom.translateBy, -width / 6 / this.transform.k, 0),
    };
    if (event.ctrlKey || event.metaKey || !(event.key in keys)) return false;
    keys[event.key]();
    return true;
  }
}

export function timelineSection(documents, points) {
  const timelines = timelinesOf(documents, points);
  if (timelines.length === 0) return null;
  return section('timeline', 'Timeline', new Timeline(timelines, firstShown(timelines, points)).chart.element);
}
