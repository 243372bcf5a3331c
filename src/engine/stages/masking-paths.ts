import type { MaskingRule } from '../../blocks/masking/schema.ts';
import { re2js } from '../../lib/lazy.ts';

/**
 * A place in records, with the first rule that names it. The dot-path is put together once for each
 * place, not for each record.
 */
export interface Place {
  /** Index of the first rule that matches the path; `Infinity` when none does. */
  readonly named: number;
  below(key: string | number): Place;
}

/** Places kept; records with endless different keys must not fill the memory. */
const KEPT_PLACES = 10_000;

/** The place of whole records; the root itself never matches by name. */
export function createPlaces(rules: readonly MaskingRule[]): Place {
  const firstNaming = compileNames(rules);
  let kept = 0;
  const place = (path: string, named: number): Place => {
    let known: Map<string | number, Place> | undefined;
    return {
      named,
      below(key) {
        const found = known?.get(key);
        if (found !== undefined) return found;
        const longer = path === '' ? String(key) : `${path}.${key}`;
        const made = place(longer, firstNaming(longer));
        if (kept < KEPT_PLACES) {
          kept += 1;
          (known ??= new Map()).set(key, made);
        }
        return made;
      },
    };
  };
  return place('', Infinity);
}

function compileNames(rules: readonly MaskingRule[]): (path: string) => number {
  const tests = rules.map(({ match }) => {
    const fields = new Set(match.fields ?? []);
    const pattern =
      match.field_pattern === undefined ? undefined : re2js().RE2JS.compile(match.field_pattern);
    return (path: string): boolean => fields.has(path) || pattern?.test(path) === true;
  });
  return (path) => {
    const index = tests.findIndex((test) => test(path));
    return index === -1 ? Infinity : index;
  };
}
