/** The steps of a document path: mapping keys and list indexes. */
export type Steps = readonly (string | number)[];

const STEP = /\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;

/** Reads back what `joinPath` writes. */
export function stepsOf(path: string): Steps {
  const steps: (string | number)[] = [];
  STEP.lastIndex = 0;
  for (let match = STEP.exec(path); match !== null; match = STEP.exec(path)) {
    if (match[1] !== undefined) steps.push(match[1]);
    else if (match[2] !== undefined) steps.push(Number(match[2]));
    else steps.push(JSON.parse(match[3] ?? '""') as string);
  }
  return steps;
}
