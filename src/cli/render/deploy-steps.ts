/** What a deployment does, a line for each template. */
import type { DeployStep } from '../../features/templates/deployment.ts';

export function stepLine(step: DeployStep, version: number | undefined): string {
  const now = version === undefined ? '' : ` ${version}`;
  switch (step.kind) {
    case 'create':
      return `+ ${step.id}  version${now === '' ? ' 1' : now}, from ${step.file.file}`;
    case 'change':
      return `~ ${step.id}  version${now === '' ? '' : now} in place of ${step.from ?? 'a draft'}, from ${step.file.file} (${changeText(step.before, step.file.text.body)})`;
    case 'launch':
      return `~ ${step.id}  version ${step.version} is launched${step.from === null ? '' : ` in place of ${step.from}`}`;
    case 'same':
      return `= ${step.id}  version ${step.version}`;
    case 'delete':
      return `- ${step.id}  in no file`;
    default:
      return step satisfies never;
  }
}

/** `+2 -1 lines`. */
function changeText(before: string, after: string): string {
  const [old, fresh] = [lineCounts(before), lineCounts(after)];
  return `+${surplus(fresh, old)} -${surplus(old, fresh)} lines`;
}

function lineCounts(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of text.trimEnd().split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** Lines of the one that the other does not have, wherever they stand. */
function surplus(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const [line, count] of one) total += Math.max(0, count - (other.get(line) ?? 0));
  return total;
}
