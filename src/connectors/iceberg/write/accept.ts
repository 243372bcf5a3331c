/** Which records of a page are written, and which are rejected one by one. */
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { Rejection } from '../../../kit/sink.ts';
import { ConnectorError, RecordError } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { requireObjects } from '../../_files/csv/csv-writer.ts';
import type { ColumnLearner } from '../../_files/typed/column-kinds.ts';
import { requireFit } from '../../_lake/data-files.ts';
import { requireValues } from '../../_lake/required-values.ts';
import type { DataGroup } from './data-group.ts';

export interface Accepted {
  readonly entries: readonly { readonly index: number; readonly record: JsonObject }[];
  readonly rejected: readonly Rejection[];
}

interface Learning {
  readonly learner: ColumnLearner;
  readonly schema: RecordSchema | undefined;
  /** Whether single records may be rejected. */
  readonly partial: boolean;
}

/** The records from which columns can be learned together. */
export function learned(
  records: readonly JsonValue[],
  { learner, schema, partial }: Learning,
): Accepted {
  const all = partial ? records : requireObjects(records, 'iceberg');
  const entries: { index: number; record: JsonObject }[] = [];
  const rejected: Rejection[] = [];
  for (const [index, record] of all.entries()) {
    if (isObject(record)) entries.push({ index, record });
    else rejected.push({ index, error: new RecordError('Sink', 'the record is not an object') });
  }
  const objects = entries.map(({ record }) => record);
  try {
    learner.learn(objects, schema);
    return { entries, rejected };
  } catch (error) {
    if (!partial || !isOfRecord(error)) throw error;
  }
  const one = sifted(entries, ({ record }) => learner.learn([record], schema));
  return { entries: one.entries, rejected: [...rejected, ...one.rejected] };
}

/** The records that the columns of the table can hold. */
export function accepted(
  { entries, rejected }: Accepted,
  { lakeFields, kinds }: DataGroup,
  partial: boolean,
): Accepted {
  const requireAll = (records: readonly JsonObject[]): void => {
    requireValues(records, lakeFields);
    requireFit(records, kinds);
  };
  if (!partial) return { entries, rejected };
  try {
    requireAll(entries.map(({ record }) => record));
    return { entries, rejected };
  } catch (error) {
    if (!isOfRecord(error)) throw error;
  }
  const one = sifted(entries, ({ record }) => requireAll([record]));
  return { entries: one.entries, rejected: [...rejected, ...one.rejected] };
}

function sifted(
  entries: Accepted['entries'],
  test: (entry: Accepted['entries'][number]) => void,
): Accepted {
  const good: { index: number; record: JsonObject }[] = [];
  const rejected: Rejection[] = [];
  for (const entry of entries) {
    try {
      test(entry);
      good.push(entry);
    } catch (error) {
      if (!isOfRecord(error)) throw error;
      const { message, hint } = error;
      const options = hint === undefined ? {} : { hint };
      rejected.push({ index: entry.index, error: new RecordError('Sink', message, options) });
    }
  }
  return { entries: good, rejected };
}

function isOfRecord(error: unknown): error is ConnectorError {
  return error instanceof ConnectorError && error.kind === 'data';
}
