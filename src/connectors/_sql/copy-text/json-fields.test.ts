import { describe, expect, it } from 'vitest';
import type { CopyField } from '../../../fast/copy-text/copy-text-writer.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { COLUMNS_LANE, RECORDS_LANE, type Lane } from '../../../kit/page.ts';
import { isNotCompact, jsonDecoder } from '../value-decoders.ts';
import { collectorOf } from './collectors.ts';
import { fieldText } from './text-fields.ts';

const LANES: readonly Lane[] = [{ form: 'bytes', encoding: JSON_LINES.name }, COLUMNS_LANE];

/** The line of a row with one column of JSON, whose text is that. */
function lineOf(lane: Lane, json: string): string {
  const decode = jsonDecoder({ column: 'doc', bigNumbers: 'fail', isRespelled: isNotCompact });
  const field: CopyField = {
    name: 'doc',
    form: 'json',
    decode: (rows, from, to) => decode(fieldText(rows, from, to)),
  };
  const collector = collectorOf(lane, [{ name: 'doc', decode }], () => [field]);
  const row = Buffer.from(`${json.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`);
  collector.add(row, 0, row.length);
  return Buffer.from(collector.take({ bytes: row.length }).block(JSON_LINES)).toString();
}

describe('a column of JSON', () => {
  it.each([
    '{"plan":"free","seats":3,"in":[1,2.5,null,true,{}]}',
    '{"a": 1}',
    '{"b":1,"2":2}',
    '{"a":1,"a":2}',
    '{"a":1.50}',
    '[1e3]',
    '["a \\"quoted\\" text","\\u00e9","\\\\"]',
    '["\\\\"]',
    '["one\\ntwo"]',
    '["é"]',
    '[]',
    'null',
    'true',
    '12',
    '"text"',
  ])('is the same in every lane: %s', (json) => {
    const plain = lineOf(RECORDS_LANE, json);
    for (const lane of LANES) expect(lineOf(lane, json)).toBe(plain);
  });
});
