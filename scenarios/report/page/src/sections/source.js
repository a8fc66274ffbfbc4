// Where the figures come from: scenario, context, documents to download.

import {html, download} from '../dom.js';
import {folded} from './section.js';

// The file that was read: of plans a job, else a scenario.
export function scenarioText({scenario: text, documents}) {
  const isJob = documents.some(({content}) => content?.schema === 'paceline.capacity/1');
  return text ? folded(isJob ? 'Job' : 'Scenario', html('pre', {tabindex: 0}, text)) : null;
}

function contextRows(documents) {
  const rows = [];
  for (const {name, content} of documents) {
    for (const [key, value] of Object.entries(content?.context ?? {})) {
      if (value === null) continue;
      const text = Array.isArray(value) ? value.join('\n') : String(value);
      if (text !== '') rows.push([documents.length > 1 ? `${name}: ${key}` : key, text]);
    }
  }
  return rows;
}

export function context(documents) {
  const rows = contextRows(documents);
  if (rows.length === 0) return null;
  return folded('Context', html('table', {class: 'data context'}, html('tbody', {}, rows.map(
      ([key, text]) => html('tr', {}, html('th', {scope: 'row', class: 'text'}, key.replace(/_/g, ' ')),
          html('td', {class: 'text'}, text))))));
}

export function downloads(documents) {
  return html('p', {class: 'downloads'}, documents.map(({name, content}) => html('button',
      {type: 'button', click: () => download(name, 'application/json', JSON.stringify(content, null, 1))},
      `Download ${name}`)));
}

const MOST_SHOWN = 200_000;

export function unknown(document) {
  const text = JSON.stringify(document.content, null, 2);
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}\n… (cut; download it below)` : text;
  return folded(`${document.name} (${document.content?.schema ?? 'no schema'})`, html('pre', {tabindex: 0}, shown));
}
