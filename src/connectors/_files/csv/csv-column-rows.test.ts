import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Columns } from '../../../kit/columns.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { CsvColumnRows, fieldsInOrder } from './csv-column-rows.ts';
import { cellsOf, columnsOf, CsvFormat } from './csv-writer.ts';
import { jsonColumnPages } from '../json/json-column-pages.ts';

const options = {
  name: 'f',
  signal: new AbortController().signal,
  bounds: { records: 100, bytes: 10_000 },
};

async function columnsFrom(
  lines: readonly string[],
): Promise<{ columns: Columns; records: readonly JsonValue[] }> {
  const blocks = (async function* () {
    yield Buffer.from(lines.join('\n'));
  })();
  for await (const page of jsonColumnPages(blocks, options)) {
    if (page.columns !== undefined) return { columns: page.columns, records: page.records() };
  }
  throw new Error('the lines are no columns');
}

const text = fc.string({
  unit: fc.constantFrom('a', '1', 't', '.', ',', ';', '"', '\n', '\r', '\t', '\\', 'é', '😀', ' '),
  maxLength: 6,
});
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  text,
  fc.constantFrom<JsonValue>(null, true, false, 0, -1.5, 123456789012345678901n, 'plain'),
  fc.constantFrom<JsonValue>([1, 'a"b'], { k: null, l: ',' }, []),
);
const NAMES = ['a', 'b,c', '7', 'quo"te', '__proto__'];

it('cells are written as the records they belong to', async () => {
  const table = fc.subarray(NAMES, { minLength: 1 }).chain((names) =>
    fc
      .array(
        fc.tuple(
          fc.array(value, { minLength: names.length, maxLength: names.length }),
          fc.nat({ max: 7 }),
        ),
        {
          minLength: 1,
          maxLength: 6,
        },
      )
      .map((rows) => ({ names, rows })),
  );
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.constantFrom(',', ';', '\t', '.', '1', 't'),
      fc.boolean(),
      async ({ names, rows }, delimiter, turned) => {
        const lines = rows.map(([values, lacking], index) => {
          const fields = names.map(
            (name, at) =>
              `${JSON.stringify(name)}:${typeof values[at] === 'bigint' ? String(values[at]) : JSON.stringify(values[at])}`,
          );
          // The first record has every field, so that the keys are known.
          return `{${fields.filter((_, at) => index === 0 || at !== lacking).join(',')}}`;
        });
        const { columns, records } = await columnsFrom(lines);
        const kept = columns.kept(columns.rows.subarray(turned ? 1 : 0));
        const left = records.slice(turned ? 1 : 0) as JsonObject[];
        expect(fieldsInOrder(kept)).toEqual(columnsOf(left));
        const output = { delimiter: delimiter.charCodeAt(0), quote: 34 };
        const chosen = [...columnsOf(left), 'not there'].slice(left.length % 2);
        const format = new CsvFormat(output);
        const written = Buffer.from(new CsvColumnRows(output).write(kept, chosen)).toString();
        expect(written).toBe(left.map((record) => format.row(cellsOf(record, chosen))).join(''));
      },
    ),
    { numRuns: 1000 },
  );
});
