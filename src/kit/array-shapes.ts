/** Arrays of databases that a column of lists has no form for, and what to do about them. */
import { ConnectorError } from '../lib/errors.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { isArrayText } from './typed-values.ts';

const HINT =
  'select the array as JSON or as text, in PostgreSQL with `to_jsonb(column)` or `column::text`; or leave the field out with `drop`';

/** `path` is a field, with `[]` for the items of its list. `undefined` for other values. */
export function arrayFault(value: JsonValue, path: string): ConnectorError | undefined {
  if (Array.isArray(value) && path.endsWith('[]'))
    return fault(
      path.replace(/(?:\[\])+$/, ''),
      'holds an array of several dimensions, where the column takes lists of one',
    );
  return typeof value === 'string' && isArrayText(value)
    ? fault(path, 'holds an array that no list can say, because of its bounds or dimensions')
    : undefined;
}

function fault(field: string, what: string): ConnectorError {
  return new ConnectorError('data', `the field ${JSON.stringify(field)} ${what}`, { hint: HINT });
}
