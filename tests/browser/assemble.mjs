// A page from the bundle and a payload, filled in as `paceline` does it: each placeholder once, from
// the template, so that a payload that holds another placeholder's text stays as it is.
import {readFileSync} from 'node:fs';

const bundle = new URL('../../scenarios/report/page/bundle/', import.meta.url);
const read = (name) => readFileSync(new URL(name, bundle), 'utf8');

const inText = (text) => text.replace(/[&<>"]/g,
    (mark) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[mark]);

export function assemble(payload) {
  const parts = {title: inText(payload.title), css: read('page.css'), js: read('page.js'),
    payload: JSON.stringify(payload).replaceAll('<', '\\u003c')};
  return read('page.html').replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}
