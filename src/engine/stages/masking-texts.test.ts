import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnsOf } from '../../../test/fakes/columns.ts';
import { maskingRulesFor, maskingSchema } from '../../blocks/masking/schema.ts';
import { readRecords } from '../../kit/column-records.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { createMasker } from './masking.ts';

const text = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'binary', maxLength: 60 }));
const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
);

const ACTIONS: readonly JsonObject[] = [
  { type: 'hash' },
  { type: 'tokenize', prefix: 'tok_' },
  { type: 'tokenize', prefix: 'ü"' },
  { type: 'partial', keep_last: 2 },
];

describe.each(ACTIONS)('$type $prefix', (action) => {
  it.each([{ key: 'a key' }, {}])(
    'makes of cells what it makes of records, page after page (%o)',
    (keyed) => {
      const block = maskingSchema.parse({
        ...keyed,
        rules: [{ match: { fields: ['a'] }, action }],
      });
      const masker = createMasker(
        maskingRulesFor(block, { preset: 'default', type: 'jsonl' }),
        block.key,
      );
      fc.assert(
        fc.property(
          fc.array(fc.tuple(scalar, fc.integer()), { maxLength: 9 }),
          fc.nat(9),
          (rows, skip) => {
            const columns = columnsOf(['a', 'b'], rows);
            const page = columns.kept(columns.rows.subarray(skip));
            const [inRecords, inColumns] = [{ count: 0 }, { count: 0 }];
            const expected = readRecords(page).map((record) =>
              masker.record(record, (_rule, _byDetector, values) => (inRecords.count += values)),
            );
            const masked = masker.columns(
              page,
              (_rule, _byDetector, values) => (inColumns.count += values),
            );
            expect(readRecords(masked)).toEqual(expected);
            expect(inColumns).toEqual(inRecords);
          },
        ),
        { numRuns: 200 },
      );
    },
  );
});
