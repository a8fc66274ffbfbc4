export function timelineSection() { return null; }
