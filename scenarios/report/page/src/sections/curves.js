// A metric over any numeric axis but the number of GPUs: bucket cap, latency, bandwidth.

import {figure} from '../charts/figure.js';
import {lineChart, MOST_BANDS} from '../charts/line_chart.js';
import {selector, Slice, toggle} from '../charts/controls.js';
import {metricsOf} from '../data/fields.js';
import {strongest} from '../data/points.js';
import {print, signedPercent} from '../units.js';
import {captionOf, seriesOf} from './scaling.js';

// A band that is more times as high as the line rises leaves the line a fifth of the chart: it would look flat.
const DWARFED_FROM = 5;

// How far the bands reach, as parts of the predictions, and whether they dwarf the line's differences. null: no band.
function bandsOf(series) {
  const banded = series.flatMap(({points}) => points).filter((point) => point.band && point.predicted > 0);
  if (banded.length === 0 || series.length > MOST_BANDS) return null;
  const values = banded.map((point) => point.predicted);
  const rise = Math.max(...values) - Math.min(...values);
  const highest = Math.max(...banded.map(({band}) => band[1] - band[0]));
  return {low: Math.min(...banded.map(({band, predicted}) => band[0] / predicted - 1)),
    high: Math.max(...banded.map(({band, predicted}) => band[1] / predicted - 1)),
    areDwarfing: rise > 0 && highest > DWARFED_FROM * rise};
}

// Says where the axis starts, and what the bands would show.
function remarks(bands, isBanded, start, metric) {
  const parts = [];
  if (start > 0) parts.push(`The axis starts at ${print(metric.kind, start)}${metric.unit ? ` ${metric.unit}` : ''}.`);
  if (bands && !isBanded) {
    parts.push(`The 90 % intervals reach from ${signedPercent(100 * bands.low)} to ${signedPercent(100 * bands.high)}${
      bands.areDwarfing ? ', far more than the points differ' : ''}; tick the box to draw them.`);
  }
  return parts.join(' ');
}

export function curveChart(points) {
  const axes = points.axes.filter((axis) => axis.isNumeric && axis.name !== 'gpus');
  if (axes.length === 0) return null;
  const metrics = metricsOf(points.rows);
  let metric = metrics.find((one) => one.id === 'step') ?? metrics[0];
  let axis = strongest(axes);
  let chosenBands = null;
  let chart = null;
  const slice = new Slice(points, [axis.name], () => chart.redraw());
  const bandBox = toggle('90 % interval', (isOn) => { chosenBands = isOn; chart.redraw(); });
  const controls = [
    selector('Show', metrics.map((one) => ({value: one, label: one.label})), metric,
        (chosen) => { metric = chosen; chart.redraw(); }),
    axes.length < 2 ? null : selector('Over', axes.map((one) => ({value: one, label: one.label})), axis,
        (chosen) => { axis = chosen; slice.take([axis.name]); chart.redraw(); }),
    slice.box, bandBox.element];
  chart = figure({title: 'By a setting', controls, draw: ({root, width}) => {
    const {series, left} = seriesOf(slice, axis.name, metric);
    const bands = bandsOf(series);
    const isBanded = bands !== null && (chosenBands ?? !bands.areDwarfing);
    bandBox.element.hidden = bands === null;
    bandBox.set(isBanded);
    const drawn = lineChart({root, width, series, x: axis, ideal: null, isBanded, isNear: true,
      y: {label: metric.unit ?? metric.label, kind: metric.kind, unit: metric.unit}});
    return {...drawn, title: `By ${axis.label}`,
      caption: [captionOf(series, left), remarks(bands, isBanded, drawn.start, metric)].filter(Boolean).join(' ')};
  }});
  return chart.element;
}
