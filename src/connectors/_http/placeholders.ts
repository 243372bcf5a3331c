/** `{name}` in addresses, bodies and parameters. */
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';

const PLACEHOLDER = /\{([A-Za-z_][\w.-]*)\}/g;

/** Values for `{name}` placeholders; later sources win. */
export type Values = (name: string) => JsonValue | undefined;

export function valuesOf(...sources: readonly (JsonValue | undefined)[]): Values {
  return (name) => {
    for (const source of sources.toReversed()) {
      const found = source === undefined ? undefined : valueAt(source, name);
      if (found !== undefined && found !== null) return found;
    }
    return undefined;
  };
}

/**
 * Fills a path; every placeholder must have a value, which is encoded so that it stays one segment
 * of the path.
 */
export function fillPath(path: string, values: Values): string {
  return path.replaceAll(PLACEHOLDER, (_whole, name: string) => {
    const value = values(name);
    if (value === undefined) {
      throw new ConnectorError('data', `\`{${name}}\` in \`path\` has no value`, {
        hint: 'set it in `partitions`, or in the parent record',
      });
    }
    return encodeURIComponent(jsonText(value));
  });
}

/** Fills the placeholders that have a value and leaves the others as they are. */
export function fillText(text: string, values: Values): string {
  return text.replaceAll(PLACEHOLDER, (whole, name: string) => {
    const value = values(name);
    return value === undefined ? whole : jsonText(value);
  });
}

function valueAt(source: JsonValue, name: string): JsonValue | undefined {
  if (!isObject(source)) return undefined;
  if (Object.hasOwn(source, name)) return source[name];
  let at: JsonValue | undefined = source;
  for (const step of name.split('.')) {
    if (!isObject(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at;
}
