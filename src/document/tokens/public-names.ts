/** Names of pipelines and rows: labels of metrics, which everybody may read. */
import type { Steps } from '../parse/steps.ts';

export function isPublicName(place: Steps): boolean {
  const [first, , last] = place;
  return (
    (first === 'name' && place.length === 1) ||
    (first === 'matrix' && last === 'id' && place.length === 3)
  );
}

export const NAME_NOT_PUBLIC = [
  'name_not_public',
  'a name is a label that everybody may read, and this one holds a value from outside of the document',
  'write the name out',
] as const;
