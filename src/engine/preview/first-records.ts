/** The first records of a row as its source gives them: nothing of the row stands between. */
import { onlyBlocks } from '../../blocks/define-block.ts';
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { preview, type PreviewOptions } from './preview.ts';

export interface FirstRecords {
  readonly records: readonly JsonValue[];
  readonly schema: RecordSchema | undefined;
}

export async function firstRecords(
  options: Omit<PreviewOptions, 'onSchema'>,
): Promise<FirstRecords> {
  const row = {
    ...options.row,
    transforms: [],
    blocks: onlyBlocks(options.row, [resilienceBlock]),
  };
  const records: JsonValue[] = [];
  let schema: RecordSchema | undefined;
  const onSchema = (known: RecordSchema | undefined): void => void (schema = known);
  for await (const record of preview({ ...options, row, onSchema })) records.push(record);
  return { records, schema };
}
