export function validationSection() { return null; }
export function leftOutSection() { return null; }
