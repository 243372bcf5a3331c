export const NAMES: readonly string[];
export function standIn<D extends object>(known: Partial<D>, load: () => D): D;
