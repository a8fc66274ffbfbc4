// Steps for the timeline: those of paceline.steps/1, else the calls of a result's points.

import {settingText} from './fields.js';
import {print} from '../units.js';
import {withSchema} from '../payload.js';

// Calls that overlap get lanes of their own. Returns the lane of each.
function lanesOf(spans) {
  const free = [];
  return spans.map((span) => {
    const lane = free.findIndex((at) => at <= span.start_s);
    const taken = lane < 0 ? free.length : lane;
    free[taken] = span.end_s;
    return taken;
  });
}

function rankOfCalls(calls, step) {
  const spans = [...calls].sort((a, b) => a.start_s - b.start_s);
  const lanes = lanesOf(spans);
  const count = Math.max(0, ...lanes.map((lane) => lane + 1));
  return {rank: 0, stands_for: null,
    lanes: [{name: 'step', kind: 'compute'}, ...Array.from({length: count},
        (_, lane) => ({name: lane === 0 ? 'communication' : `communication ${lane + 1}`, kind: 'communication'}))],
    spans: [{lane: 0, name: 'step', kind: 'step', start_s: 0, end_s: step},
      ...spans.map((call, index) => ({...call, lane: lanes[index] + 1, kind: 'collective', bytes: call.size_bytes}))]};
}

function stepsOfPoint(row, axes) {
  const point = axes.filter((axis) => axis.name !== 'document' && row[axis.name] !== undefined)
                    .map((axis) => settingText(axis.name, print(axis.kind, row[axis.name]))).join(', ') ||
                `${row.gpus} GPUs`;
  return [['predicted', row.calls, row.predicted_step_s], ['measured', row.measured_calls, row.measured_step_s]]
      .filter(([, calls, step]) => calls?.length > 0 && step > 0)
      .map(([origin, calls, step]) => ({point, origin, step_s: step, ranks: [rankOfCalls(calls, step)],
        document: axes.some((axis) => axis.name === 'document') ? row.document : null}));
}

// Of paceline.steps/1, which has what all ranks share once: with the spans of each rank.
function withSpans(step) {
  const spansOf = (rank) => step.operations
      .map((operation, index) => ({...operation, start_s: rank.start_s[index], end_s: rank.end_s[index],
        waited_for: step.operations[rank.released_by[index]]?.name}))
      .filter((span) => span.end_s > span.start_s);
  return {...step, ranks: step.ranks.map((rank) => ({...rank, lanes: step.lanes, spans: spansOf(rank)}))};
}

const ORDER = ['predicted', 'measured', 'imported'];

// [{point, steps}]: predicted before measured before imported.
export function timelinesOf(documents, points) {
  const given = withSchema(documents, 'paceline.steps/1')
                    .flatMap((document) => (document.content.steps ?? []).map(withSpans));
  const steps = given.length > 0 ? given : (points?.rows ?? []).flatMap((row) => stepsOfPoint(row, points.axes));
  const byPoint = new Map();
  for (const step of steps) {
    if (!byPoint.has(step.point)) byPoint.set(step.point, []);
    byPoint.get(step.point).push(step);
  }
  return [...byPoint].map(([point, all]) => ({point,
    steps: all.sort((a, b) => ORDER.indexOf(a.origin) - ORDER.indexOf(b.origin))}));
}
