export function stateOfSources(folder: string): string;
/** The file in which a build writes down what it was made of. */
export function noteOfBundle(folder: string): string;
export function isBundleOfSources(folder: string): boolean;
