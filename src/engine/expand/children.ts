/** A child row runs once for every record that its parent row handed to its sink. */
import { RunError } from '../../lib/errors.ts';
import { withStoredTexts } from '../../lib/sql/sqlite-values.ts';
import { isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';
import type { ParentLink } from '../../plan/plan.ts';
import type { Expansion } from './expansion.ts';
import { keyPartOf } from './iteration.ts';

/** Two records with the same key would share a bookmark, so that is refused before any starts. */
export function childExpansion(
  row: string,
  parent: ParentLink,
  captured: readonly JsonValue[],
): Expansion {
  const seen = new Set<string>();
  const records = captured.map(withStoredTexts);
  const keys = records.map((record) => {
    const key = parentKeyText(isObject(record) ? record : {}, parent.key);
    if (seen.has(key)) {
      throw new RunError(
        'Config',
        'duplicate_state_key',
        `row \`${row}\`: two parent records have the same \`${parent.key}\`: ${key}`,
        {
          hint: 'name a `parent_key` whose values are unique',
        },
      );
    }
    seen.add(key);
    return key;
  });
  return {
    size: keys.length,
    idle: `its parent \`${parent.row}\` gave no records`,
    *iterations() {
      for (const [index, key] of keys.entries()) {
        const record = records[index] ?? null;
        yield {
          key,
          keyPart: keyPartOf(key),
          chunk: undefined,
          records: new Map([[parent.row, record]]),
          parent: record,
        };
      }
    },
  };
}

/** The value at a dotted path, as text; `(missing)` when it is not there. */
function parentKeyText(record: JsonValue, path: string): string {
  let at: JsonValue | undefined = record;
  for (const step of path === '' ? [] : path.split('.')) at = isObject(at) ? at[step] : undefined;
  return at === undefined ? '(missing)' : jsonText(at);
}
