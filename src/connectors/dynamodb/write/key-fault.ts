import { isKeyed } from '../../../kit/write-spec.ts';
import type { KeyField } from '../attributes.ts';
import type { DynamodbSinkConfig } from '../config.ts';

/** Items are replaced and deleted by the key of their table, and by no other. */
export function keyFault(
  { write_mode: mode, key, table_name: table }: DynamodbSinkConfig,
  found: readonly KeyField[],
): string | undefined {
  if (!isKeyed(mode)) return undefined;
  const names = found.map(({ name }) => name);
  const isSame = key.length === names.length && names.every((name) => key.includes(name));
  return isSame ? undefined : `the key of the table \`${table}\` is ${names.join(', ')}`;
}
