// A chart with its title, controls, tooltip, and a button that saves it.

import {html, svg, download, fileName} from '../dom.js';
import {standaloneSvg} from './standalone.js';
import {hideTooltip, showTooltip} from './tooltip.js';

const drawings = new Set();

// Draws every chart again: a changed theme or paper.
export function redrawAll(width = null) {
  for (const draw of drawings) draw(width);
}

// `draw({root, width})` fills an empty <svg> and returns {height, label, targets, guide}, and may return another
// title and caption:
// targets are {x, y, lines, point} that pointer and arrow keys read out, `lines` their words.
export function figure({title, caption, controls = [], draw, wide = false, keys = null,
  hint = 'Arrow keys read the values'}) {
  const root = svg('svg', {class: 'chart', role: 'img'});
  const heading = html('h3', {}, title);
  const plot = html('div', {class: 'plot', tabindex: 0, role: 'group'}, root);
  const readout = html('p', {class: 'readout', 'aria-live': 'polite'});
  const note = html('p', {class: 'caption'}, caption ?? '');
  const state = {targets: [], at: -1, width: 0, keys};
  const redraw = (forced = null) => {
    const width = forced ?? plot.clientWidth;
    if (width < 50) return;
    state.width = width;
    root.replaceChildren();
    const drawn = draw({root, width});
    size(root, width, drawn);
    plot.setAttribute('aria-label', `${drawn.label}. ${hint}.`);
    if (drawn.title !== undefined) heading.textContent = drawn.title;
    if (drawn.caption !== undefined) note.textContent = drawn.caption;
    Object.assign(state, {targets: drawn.targets ?? [], at: -1, guide: drawn.guide, height: drawn.height});
  };
  inspect(plot, root, readout, state);
  const save = html('button', {type: 'button', class: 'save', click: () => download(
      fileName(heading.textContent, 'svg'), 'image/svg+xml', standaloneSvg(root, heading.textContent))}, 'Save SVG');
  drawings.add(redraw);
  new ResizeObserver(() => plot.clientWidth !== state.width && redraw()).observe(plot);
  const element = html('figure', {class: wide ? 'wide' : ''},
      html('div', {class: 'head'}, heading, save),
      controls.some(Boolean) ? html('div', {class: 'controls'}, controls) : null,
      plot, readout, note);
  return {element, redraw, plot};
}

function size(root, width, {height, label}) {
  root.setAttribute('width', width);
  root.setAttribute('height', height);
  root.setAttribute('viewBox', `0 0 ${width} ${height}`);
  root.setAttribute('aria-label', label);
}

// Reads out the target nearest to the pointer, or the next one on an arrow key.
function inspect(plot, root, readout, state) {
  const show = (index) => {
    const target = state.targets[index];
    if (!target) return;
    state.at = index;
    mark(root, target, state);
    const box = root.getBoundingClientRect();
    showTooltip(target.lines, box.left + target.x, box.top + target.y);
  };
  const leave = () => {
    root.querySelector('.mark')?.remove();
    hideTooltip();
    state.at = -1;
  };
  plot.addEventListener('pointermove', (event) => {
    const box = root.getBoundingClientRect();
    const index = nearest(state.targets, event.clientX - box.left, event.clientY - box.top);
    if (index >= 0) show(index);
    else leave();
  });
  plot.addEventListener('pointerleave', leave);
  plot.addEventListener('blur', leave);
  plot.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return leave();
    if (state.keys?.(event)) return event.preventDefault();
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step || state.targets.length === 0) return undefined;
    event.preventDefault();
    const count = state.targets.length;
    show(state.at < 0 ? (step > 0 ? 0 : count - 1) : (state.at + step + count) % count);
    readout.textContent = state.targets[state.at].lines.map((line) => line.text ?? line).join(', ');
    return undefined;
  });
}

// The nearest target whose reach contains the place; a target without one reaches 40 px.
function nearest(targets, x, y) {
  let best = -1;
  let least = Infinity;
  targets.forEach((target, index) => {
    const [dx, dy] = [Math.abs(target.x - x), Math.abs(target.y - y)];
    const [reachX, reachY] = target.reach ?? [40, 40];
    if (dx > reachX || dy > reachY) return;
    const distance = dx * dx + dy * dy * (reachY === Infinity ? 1e-6 : 1);
    if (distance < least) [least, best] = [distance, index];
  });
  return best;
}

function mark(root, target, state) {
  root.querySelector('.mark')?.remove();
  const group = svg('g', {class: 'mark'});
  if (target.box) {
    const [x, y, width, height] = target.box;
    group.append(svg('rect', {x, y, width, height, class: 'markbox'}));
  } else if (state.guide) {
    group.append(svg('line', {x1: target.x, x2: target.x, y1: state.guide[0], y2: state.guide[1],
      class: 'guide'}));
  } else {
    group.append(svg('circle', {cx: target.x, cy: target.y, r: 8, class: 'markbox'}));
  }
  root.append(group);
}
