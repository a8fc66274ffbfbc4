// What the page shows: paceline.report/1, in the element with the id paceline-report.

export function readPayload() {
  const element = document.getElementById('paceline-report');
  const payload = JSON.parse(element.textContent);
  if (payload.schema !== 'paceline.report/1') throw new Error(`cannot show ${payload.schema}`);
  return {...payload, documents: payload.documents ?? []};
}

// The documents of any of these schemas.
export function withSchema(documents, ...schemas) {
  return documents.filter((document) => schemas.includes(document.content?.schema));
}
