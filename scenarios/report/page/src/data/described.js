// What the documents say of themselves: what is trained on what, and which values of the file were changed.

// Each text once, with the documents that say it; no name where all say the same: [{name, value}].
function lines(documents, valueOf) {
  const named = new Map();
  const said = documents.map((document) => ({name: document.name, value: [valueOf(document.content ?? {}) ?? []].flat().filter(Boolean)}))
                   .filter(({value}) => value.length > 0);
  for (const {name, value} of said) {
    const key = JSON.stringify(value);
    if (!named.has(key)) named.set(key, {names: [], value});
    named.get(key).names.push(name);
  }
  return [...named.values()].map(({names, value}) => ({name: named.size > 1 ? names.join(', ') : null, value}));
}

export function describedLines(documents) {
  return lines(documents, (content) => content.context?.described ?? content.described);
}

export function changedLines(documents) {
  return lines(documents, (content) => content.context?.settings);
}
