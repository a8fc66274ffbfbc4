// Terms of paceline.explanation/1 as bars that follow one another and end at the step.

// So many rows are looked at; a step of a hundred buckets has more terms.
const MOST_ROWS = 24;

// The longest terms in their order, and the others as one: [{name, time_s, formula, from, to, isExposed, isStep}].
// Those that take no time are left out.
export function barsOfTerms(explanation) {
  const terms = (explanation.terms ?? []).filter((term) => term.time_s !== 0);
  const longest = [...terms].sort((a, b) => Math.abs(b.time_s) - Math.abs(a.time_s));
  const kept = new Set(terms.length <= MOST_ROWS ? terms : longest.slice(0, MOST_ROWS - 1));
  const others = terms.filter((term) => !kept.has(term));
  const shown = terms.filter((term) => kept.has(term));
  if (others.length > 0) {
    shown.push({name: `${others.length} shorter terms`, time_s: others.reduce((sum, term) => sum + term.time_s, 0)});
  }
  let at = 0;
  const bars = shown.map((term) => {
    const from = at;
    at += term.time_s;
    return {...term, from, to: at, isExposed: term.name.startsWith('exposed'), isStep: false};
  });
  return [...bars, {name: 'step', time_s: explanation.step_s, from: 0, to: explanation.step_s, isExposed: false,
    isStep: true}];
}
