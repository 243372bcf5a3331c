/** The document as events tell it: what is known or named as a secret is masked. */
import { dump } from 'js-yaml';
import { restoreEscapes } from '../../document/tokens/tokens.ts';
import { isSecretKey, redactUri } from '../../lib/http/redact-uri.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { Redactor } from '../../lib/redact.ts';

const MASK = '***';

/** Blocks whose `key` is none of a record. */
const HAS_KEY: ReadonlySet<string> = new Set(['masking', 'encryption']);

export function sourceCodeOf(document: JsonObject, redactor: Redactor): string {
  return redactor.text(dump(masked(restoreEscapes(document), '')));
}

function masked(value: JsonValue, block: string): JsonValue {
  if (typeof value === 'string') return value.includes('://') ? redactUri(value) : value;
  // The writer of YAML knows no such number.
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map((item) => masked(item, block));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      // Which header holds a key is for the other side to know.
      const isSecret =
        isSecretKey(key) || (key === 'key' && HAS_KEY.has(block)) || block === 'headers';
      return [
        key,
        isSecret && (typeof item === 'string' || typeof item === 'number')
          ? MASK
          : masked(item, key),
      ];
    }),
  );
}
