export function strategiesSection() { return null; }
