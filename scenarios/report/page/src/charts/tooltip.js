// One tooltip for the page. Lines are texts, or {text, series} with the series' swatch.

import {html} from '../dom.js';

let tip = null;

export function showTooltip(lines, clientX, clientY) {
  if (!tip) {
    tip = html('div', {id: 'tooltip', role: 'tooltip'});
    document.body.append(tip);
  }
  tip.replaceChildren(...lines.map((line, index) => html('div', {class: index === 0 ? 'first' : ''},
      line.series !== undefined ? html('i', {class: `swatch s${line.series}`}) : null,
      line.text ?? line)));
  tip.hidden = false;
  place(clientX, clientY);
}

// Right of the place and above it, where there is room.
function place(clientX, clientY) {
  const {offsetWidth: width, offsetHeight: height} = tip;
  const right = clientX + 14 + width < document.documentElement.clientWidth - 4;
  const left = right ? clientX + 14 : Math.max(4, clientX - 14 - width);
  const above = clientY - height - 10;
  tip.style.left = `${left + window.scrollX}px`;
  tip.style.top = `${(above > 4 ? above : clientY + 16) + window.scrollY}px`;
}

export function hideTooltip() {
  if (tip) tip.hidden = true;
}
