import { ConnectorError } from '../../lib/errors.ts';
import { isObject, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/**
 * A copy of `body` with one field set; `field` is a name, or a JSON pointer whose objects are made
 * on the way.
 */
export function withField(body: JsonValue | undefined, field: string, value: JsonValue): JsonValue {
  if (body !== undefined && body !== null && !isObject(body)) {
    throw new ConnectorError(
      'data',
      `\`${field}\` cannot be set in the request body: it is not an object`,
      {
        hint: 'make `body` a mapping',
      },
    );
  }
  const steps = field.startsWith('/') ? field.slice(1).split('/').map(unescapeStep) : [field];
  const copy: JsonObject = structuredClone(body ?? {});
  let at = copy;
  for (const step of steps.slice(0, -1)) {
    const inner = at[step];
    const next = isObject(inner) ? inner : {};
    setField(at, step, next);
    at = next;
  }
  setField(at, steps.at(-1) ?? field, value);
  return copy;
}

function unescapeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
