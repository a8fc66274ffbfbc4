export function capacitySection() { return null; }
