// Series differ by colour, by dashes, and by the shape of their markers.

import {symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar,
  symbolTriangle, symbolWye} from 'd3-shape';
import {svg} from '../dom.js';

const SHAPES = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross, symbolStar,
  symbolWye];

// Square px: a point of a line, a measurement or the best plan (hollow), a plan.
const AREA = {predicted: 26, measured: 72, plan: 56};

// Colours, dashes and shapes repeat after 8, 8 and 7 series.
export const DISTINCT_SERIES = 8;

export function marker(series, x, y, kind) {
  const area = AREA[kind];
  return svg('path', {d: symbol(SHAPES[series % SHAPES.length], area)(),
    transform: `translate(${x},${y})`, class: `marker ${kind}`});
}
