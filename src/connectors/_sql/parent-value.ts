import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import { parseFieldPath, readerOf } from '../../kit/field-path.ts';

/** `{field}` or `{field.inner}` in a query: a field of the parent record, bound as a parameter. */
export const PARENT_FIELD = /\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}/g;

/** The value of a field of the record this child invocation runs for. */
export function parentValue(name: string, { parent }: Pick<SourceContext, 'parent'>): JsonValue {
  if (parent === undefined) {
    throw new ConnectorError('missing', `the query uses {${name}}, but this row has no parent record`);
  }
  const path = parseFieldPath(name);
  const value = 'error' in path ? undefined : readerOf(path)(parent);
  if (value !== undefined) return value;
  throw new ConnectorError('missing', `the query uses {${name}}, but the parent record has no such field`, {
    hint: isObject(parent) ? `its fields: ${Object.keys(parent).join(', ')}` : 'the parent record is not an object',
  });
}
