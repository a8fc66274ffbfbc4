// The lanes of one rank's steps, one step below the other, on one axis of time.

import {fitted, svg, textWidth} from '../dom.js';
import {bytes, tickTime, time} from '../units.js';
import {legend} from './legend.js';

const LANE = 22;
const GAP = 3;
const HEAD = 24;
// Narrower spans of a lane that follow one another are drawn as one.
const NARROWEST = 1.5;

const KINDS = {step: 7, forward: 0, backward: 6, collective: 1, copy: 4, optimizer: 2, input: 5, wait: 7, launch: 3};

const seriesOf = (kind) => KINDS[kind] ?? 7;

// Spans of a lane that are in sight, narrow neighbours joined: [{x0, x1, spans}].
function piecesOf(spans, x, width) {
  const pieces = [];
  for (const span of spans) {
    const [x0, x1] = [x(span.start_s), x(span.end_s)];
    if (x1 < 0 || x0 > width) continue;
    const last = pieces[pieces.length - 1];
    const isNarrow = x1 - x0 < NARROWEST;
    if (isNarrow && last?.isNarrow && x0 - last.x1 < NARROWEST && last.spans[0].kind === span.kind) {
      last.x1 = Math.max(last.x1, x1);
      last.spans.push(span);
    } else {
      pieces.push({x0, x1, spans: [span], isNarrow});
    }
  }
  return pieces;
}

function linesOf(spans, lane) {
  const [span] = spans;
  if (spans.length > 1) {
    const last = spans[spans.length - 1];
    return [`${spans.length} spans: ${span.kind}`, `${span.name} to ${last.name}`,
      `start ${time(span.start_s)}, end ${time(last.end_s)}`, 'zoom in to see them'];
  }
  const call = [span.collective?.replace(/_/g, '-'), span.algorithm].filter(Boolean).join(', ');
  return [span.name, `${span.kind}, lane ${lane.name}`, call || null,
    typeof span.bytes === 'number' ? bytes(span.bytes) : null,
    `start ${time(span.start_s)}, duration ${time(span.end_s - span.start_s)}`,
    typeof span.skew_s === 'number' && span.skew_s > 0 ? `starts of ranks ${time(span.skew_s)} apart` : null,
    span.waited_for ? `waited for ${span.waited_for}` : null].filter(Boolean);
}

function drawPiece(root, {x0, x1, spans}, y, width, lane) {
  const [left, right] = [Math.max(-2, x0), Math.min(width + 2, x1)];
  const size = Math.max(1, right - left);
  root.append(svg('rect', {x: left, y, width: size, height: LANE - GAP, class: `span s${seriesOf(spans[0].kind)}`}));
  const [from, room] = [Math.max(0, left) + 4, Math.min(width, right) - Math.max(0, left) - 8];
  const name = spans[0].name;
  if (spans.length === 1 && room > 14) {
    const text = fitted(name, room);
    if (text.length > 2 || text === name) root.append(svg('text', {x: from, y: y + 13}, text));
  }
  return {x: (Math.max(0, left) + Math.min(width, right)) / 2, y: y + LANE / 2,
    reach: [Math.max(3, (Math.min(width, right) - Math.max(0, left)) / 2), LANE / 2],
    box: [left, y, size, LANE - GAP], lines: linesOf(spans, lane)};
}

function drawStep(root, {step, rank, top, x, width}) {
  const shown = step.ranks.find((one) => one.rank === rank) ?? step.ranks[0];
  const targets = [];
  const title = [`${step.origin}: step ${time(step.step_s)}`, step.document ?? null,
    shown.rank === rank ? null : `rank ${shown.rank}`].filter(Boolean).join(', ');
  root.append(svg('text', {x: 0, y: top + 15, class: 'axistitle'}, title));
  shown.lanes.forEach((lane, index) => {
    const y = top + HEAD + index * (LANE + 13);
    root.append(svg('rect', {x: 0, y: y + 11, width, height: LANE - GAP, class: 'lane'}),
        svg('text', {x: 2, y: y + 7, class: 'tick lanename'}, lane.name));
    const spans = shown.spans.filter((span) => span.lane === index).sort((a, b) => a.start_s - b.start_s);
    for (const piece of piecesOf(spans, x, width)) targets.push(drawPiece(root, piece, y + 11, width, lane));
  });
  const bottom = top + HEAD + shown.lanes.length * (LANE + 13);
  const end = x(step.step_s);
  if (end >= 0 && end <= width) {
    root.append(svg('line', {x1: end, x2: end, y1: top + HEAD, y2: bottom, class: 'target'}));
  }
  return {bottom, targets};
}

function drawAxis(root, x, width, y) {
  const ticks = x.ticks(Math.max(2, Math.floor(width / 110)));
  const label = tickTime(ticks.length > 1 ? ticks[1] - ticks[0] : 1, Math.max(...ticks));
  for (const tick of ticks) {
    const at = x(tick);
    const half = textWidth(label(tick)) / 2;
    const inside = Math.min(width - half, Math.max(half, at));
    root.append(svg('line', {x1: at, x2: at, y1: y, y2: y + 4, class: 'ticks'}),
        svg('text', {x: inside, y: y + 17, 'text-anchor': 'middle', class: 'tick'}, label(tick)));
  }
  root.append(svg('line', {x1: 0, x2: width, y1: y, y2: y, class: 'ticks'}));
}

export function drawTimeline({root, width, steps, rank, x, point}) {
  const kinds = [...new Set(steps.flatMap((step) => step.ranks.flatMap(({spans}) => spans.map((span) => span.kind))))];
  let top = legend(root, kinds.sort((a, b) => seriesOf(a) - seriesOf(b))
                       .map((kind) => ({label: kind, kind: 'span', series: seriesOf(kind)})), width) + 6;
  const targets = [];
  for (const step of steps.filter((one) => one.ranks?.length > 0)) {
    const drawn = drawStep(root, {step, rank, top, x, width});
    targets.push(...drawn.targets);
    top = drawn.bottom + 12;
  }
  drawAxis(root, x, width, top);
  const origins = steps.map((step) => step.origin).join(' above ');
  return {height: top + 26, targets, label: `Timeline of ${point}, ${origins}`};
}
