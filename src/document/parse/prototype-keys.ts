/** The key `__proto__`, which schemas mostly pass over. */
import type { Issue } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { isFull } from '../text/locate.ts';

const PROTOTYPE = '__proto__';

/** The schemas mostly pass over this key: it would be accepted and forgotten. */
export function refusePrototypes(value: JsonValue, path: string, issues: Issue[]): void {
  if (typeof value !== 'object' || value === null || isFull(issues)) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      refusePrototypes(item, joinPath(path, index), issues);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    if (key === PROTOTYPE) refusePrototype(joinPath(path, key), issues);
    else if (typeof item === 'object' && item !== null)
      refusePrototypes(item, joinPath(path, key), issues);
  }
}

export function holdsPrototype(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsPrototype);
  return (
    Object.hasOwn(value, PROTOTYPE) || Object.keys(value).some((key) => holdsPrototype(value[key]))
  );
}

function refusePrototype(path: string, issues: Issue[]): void {
  if (issues.some((issue) => issue.path === path)) return;
  issues.push({ code: 'unknown_key', path, message: `unknown key \`${PROTOTYPE}\`` });
}
