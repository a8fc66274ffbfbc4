// A metric over any numeric axis but the number of GPUs: bucket cap, latency, bandwidth.

import {figure} from '../charts/figure.js';
import {lineChart} from '../charts/line_chart.js';
import {selector, Slice} from '../charts/controls.js';
import {metricsOf} from '../data/fields.js';
import {strongest} from '../data/points.js';
import {captionOf, seriesOf} from './scaling.js';

export function curveChart(points) {
  const axes = points.axes.filter((axis) => axis.isNumeric && axis.name !== 'gpus');
  if (axes.length === 0) return null;
  const metrics = metricsOf(points.rows);
  let metric = metrics.find((one) => one.id === 'step') ?? metrics[0];
  let axis = strongest(axes);
  let chart = null;
  const slice = new Slice(points, [axis.name], () => chart.redraw());
  const controls = [
    selector('Show', metrics.map((one) => ({value: one, label: one.label})), metric,
        (chosen) => { metric = chosen; chart.redraw(); }),
    axes.length < 2 ? null : selector('Over', axes.map((one) => ({value: one, label: one.label})), axis,
        (chosen) => { axis = chosen; slice.take([axis.name]); chart.redraw(); }),
    slice.box];
  chart = figure({title: 'By a setting', controls, draw: ({root, width}) => {
    const {series, left} = seriesOf(slice, axis.name, metric);
    const drawn = lineChart({root, width, series, x: axis, ideal: null,
      y: {label: metric.unit ?? metric.label, kind: metric.kind, unit: metric.unit}});
    return {...drawn, title: `By ${axis.label}`, caption: captionOf(series, left)};
  }});
  return chart.element;
}
