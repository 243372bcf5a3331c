/** Records that a source could not read, as dead letters. */
import type { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { Env } from '../../lib/env.ts';
import type { DeadRecord } from '../stages/stage.ts';

/** Where a page stands: the records before it, and its number, from 1. */
interface PagePlace {
  readonly before: number;
  readonly page: number;
}

export function unreadOf(
  { rejected, schema }: Page,
  { before, page }: PagePlace,
): readonly DeadRecord[] {
  if (rejected.length === 0) return [];
  const inferred = inferredTypes(schema);
  return rejected.map(({ message, payload, input, at, base64, index }) => ({
    kind: 'Source',
    reason: 'parse',
    message,
    payload,
    index,
    number: before + index + 1,
    schema: inferred,
    unread: { input, ...at, page, ...(base64 === undefined ? {} : { base64 }) },
  }));
}

/** A replay reads the record with the types of its run: alone it would have others. */
function inferredTypes(schema: RecordSchema | undefined): RecordSchema | undefined {
  const fields = schema?.fields.filter(({ evidence }) => evidence !== undefined) ?? [];
  return fields.length === 0 ? undefined : { fields, others: true };
}

/** For the first page with such records: a source that rejects one often rejects many. */
export function logRejected(
  { rejected: [first] }: Page,
  { env, row }: { readonly env: Pick<Env, 'log'>; readonly row: { readonly id: string } },
): void {
  if (first === undefined) return;
  env.log.at('headgate::engine').warn('a record cannot be read and goes to the dead-letter queue', {
    row: row.id,
    error: first.message,
    hint: 'further ones are only counted; `headgate dlq inspect` shows them',
  });
}
