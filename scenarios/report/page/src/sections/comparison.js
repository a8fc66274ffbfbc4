export function comparisonSection() { return null; }
