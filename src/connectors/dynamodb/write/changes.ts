/** What a page changes in a table. */
import type { AttributeValue, WriteRequest } from '@aws-sdk/client-dynamodb';
import type { Rejection } from '../../../kit/sink.ts';
import { planKeyedPage, type KeyedSpec } from '../../../kit/write-spec.ts';
import { RecordError } from '../../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { itemOf, itemSize, keyAttribute, type Item, type KeyField } from '../attributes.ts';

const MOST_BYTES = 409_600;

export interface Change {
  /** Of its record in the page. */
  readonly index: number;
  readonly key: Item;
  /** Takes the place of the whole item; absent where that is deleted. */
  readonly item: Item | undefined;
  readonly bytes: number;
}

interface PlannedPage {
  readonly changes: readonly Change[];
  readonly rejected: readonly Rejection[];
}

/** Each key is there once. */
export function plannedPage(
  records: readonly JsonValue[],
  spec: KeyedSpec,
  key: readonly KeyField[],
): PlannedPage {
  const plan = planKeyedPage(records, spec);
  const changes: Change[] = [];
  const rejected = [...plan.rejected];
  const add = (index: number, record: JsonObject, isDeleted: boolean): void => {
    const made = changeOf(index, record, { key, isDeleted });
    if (made instanceof RecordError) rejected.push({ index, error: made });
    else changes.push(made);
  };
  for (const { index, record } of plan.deletes) add(index, record, true);
  for (const { index, record } of plan.upserts) add(index, record, false);
  return { changes, rejected };
}

/** Each record by itself, in order: under a condition it depends on those before it what it does. */
export function plannedRecords(
  records: readonly JsonValue[],
  spec: KeyedSpec,
  key: readonly KeyField[],
): PlannedPage {
  const changes: Change[] = [];
  const rejected: Rejection[] = [];
  for (const [index, record] of records.entries()) {
    const planned = plannedPage([record], spec, key);
    changes.push(...planned.changes.map((change) => ({ ...change, index })));
    rejected.push(...planned.rejected.map(({ error }) => ({ index, error })));
  }
  return { changes, rejected };
}

function changeOf(
  index: number,
  record: JsonObject,
  { key, isDeleted }: { readonly key: readonly KeyField[]; readonly isDeleted: boolean },
): Change | RecordError {
  try {
    const own: Item = Object.fromEntries(
      key.map((field): [string, AttributeValue] => [field.name, keyAttribute(record, field)]),
    );
    if (isDeleted) return { index, key: own, item: undefined, bytes: itemSize(own) };
    const item = Object.assign(itemOf(record), own);
    const bytes = itemSize(item);
    if (bytes > MOST_BYTES)
      return new RecordError(
        'Sink',
        `the item has about ${bytes} bytes, and a table takes ${MOST_BYTES}`,
      );
    return { index, key: own, item, bytes };
  } catch (error) {
    if (error instanceof RecordError) return error;
    throw error;
  }
}

export function requestOf({ key, item }: Change): WriteRequest {
  return item === undefined ? { DeleteRequest: { Key: key } } : { PutRequest: { Item: item } };
}

/** The same text for the same key, also of what the service gives back. */
export function keyText(item: Item, key: readonly KeyField[]): string {
  return JSON.stringify(
    key.map(({ name }) => {
      const value = item[name];
      return value?.S ?? value?.N ?? Buffer.from(value?.B ?? []).toString('base64');
    }),
  );
}
