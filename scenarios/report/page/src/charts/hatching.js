// Bars of parts: each part has a colour and, for those who do not tell colours apart, a hatching.

import {svg} from '../dom.js';

let ids = 0;

const LINES = {part1: 'M-1,7L7,-1M-1,1L1,-1M5,7L7,5', part2: 'M0,1.5H6M0,4.5H6'};

// The chart's own pattern, so that it is in the saved file, too.
function patternId(root, part) {
  const known = root.querySelector(`pattern[data-part="${part}"]`);
  if (known) return known.id;
  ids += 1;
  const id = `hatching-${ids}`;
  root.prepend(svg('defs', {}, svg('pattern', {id, 'data-part': part, width: 6, height: 6,
    patternUnits: 'userSpaceOnUse'}, svg('path', {d: LINES[part], class: 'hatching'}))));
  return id;
}

// Elements for a bar of a part: 'part0' and 'part3' are plain, 'part1' and 'part2' are hatched.
export function bar(root, part, place) {
  const solid = svg('rect', {...place, class: part});
  if (!LINES[part]) return [solid];
  return [solid, svg('rect', {...place, fill: `url(#${patternId(root, part)})`})];
}
