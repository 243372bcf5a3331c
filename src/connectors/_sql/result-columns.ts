import { ConnectorError } from '../../lib/errors.ts';
import { refuseEqualNames } from './equal-names.ts';

/** Each column of a result has a name of its own, and there is one. */
export function checkResultColumns(names: readonly string[]): void {
  const place = names.indexOf('');
  if (names.length === 0)
    throw new ConnectorError('data', 'the query gives no rows: it has to be one that reads', {
      hint: 'use a SELECT; change data outside of the pipeline',
    });
  if (place !== -1)
    throw new ConnectorError('data', `column ${place + 1} of the query has no name`, {
      hint: 'give it one with `AS`',
    });
  refuseEqualNames(names);
}
