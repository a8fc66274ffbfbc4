// Series differ by colour, by dashes, and by the shape of their markers.

import {symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar,
  symbolTriangle, symbolWye} from 'd3-shape';
import {svg} from '../dom.js';

const SHAPES = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross, symbolStar,
  symbolWye];

// Colours, dashes and shapes repeat after 8, 8 and 7 series.
export const DISTINCT_SERIES = 8;

export function marker(series, x, y, kind) {
  const area = kind === 'measured' ? 72 : 26;
  return svg('path', {d: symbol(SHAPES[series % SHAPES.length], area)(),
    transform: `translate(${x},${y})`, class: `marker ${kind}`});
}
