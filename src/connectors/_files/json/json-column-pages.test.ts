import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeLines } from '../../../kit/column-lines.ts';
import { RECORDS_LANE, type Page } from '../../../kit/page.ts';
import { messageOf } from '../../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { jsonColumnPages } from './json-column-pages.ts';
import { jsonLines } from './json-lines-file.ts';
import { cutPages } from '../lines/cut-pages.ts';

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

interface Read {
  readonly pages: { bytes: number; count: number; records: readonly JsonValue[] }[];
  /** Of each page. */
  readonly forms: string[];
  error?: string;
}

async function read(pages: AsyncIterable<Page>): Promise<Read> {
  const found: Read = { pages: [], forms: [] };
  try {
    for await (const page of pages) {
      const { bytes, count } = page;
      const lines =
        page.columns === undefined ? undefined : Buffer.from(writeLines(page.columns)).toString();
      const records = page.records();
      if (lines !== undefined)
        expect(lines).toBe(records.map((record) => `${stringifyJson(record)}\n`).join(''));
      found.pages.push({ bytes, count, records });
      found.forms.push(page.form.form);
      page.release();
    }
  } catch (error) {
    found.error = messageOf(error);
  }
  return found;
}

const key = fc.constantFrom('a', 'b', 'first name', 'é', '7', '__proto__', 'quo"te', 'x\\y');
const scalar = fc.constantFrom(
  '1',
  '-1',
  '1.5',
  '-0',
  '1.0',
  '1e5',
  '1E-7',
  '1e21',
  '9007199254740993',
  '12345678901234567890',
  '0.1234567890123456',
  'true',
  'false',
  'null',
  '""',
  '"x"',
  '"é😀"',
  '"\\n"',
  '"\\u0041"',
  '"\\/"',
  '"\\ud800"',
  '"\\"\\\\"',
  '"\\u0000"',
);
const nested = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom('[1, 2]', '{"a":{"b":[]}}', '{"2":1,"1":2}', '{"a":1,"a":2}', '[1e400]'),
);
const gap = fc.constantFrom('', '', '', ' ', '\t ', '\r');
const objectOf = (keys: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.array(fc.oneof(scalar, scalar, nested), {
        minLength: keys.length,
        maxLength: keys.length,
      }),
      gap,
    )
    .map(([values, space]) => {
      const fields = keys.map(
        (name, index) => `${JSON.stringify(name)}${space}:${space}${values[index]}`,
      );
      return `${space}{${space}${fields.join(`${space},${space}`)}${space}}${space}`;
    });
/** Mostly the same keys in the same order, some of them not there. */
const uniform = fc.uniqueArray(key, { minLength: 1, maxLength: 4 }).chain((keys) =>
  fc.array(fc.oneof(objectOf(keys), objectOf(keys), fc.shuffledSubarray(keys).chain(objectOf)), {
    maxLength: 10,
  }),
);
const odd = fc.constantFrom(
  '',
  ' ',
  '5',
  '[1]',
  '"x"',
  'null',
  '{}',
  '{"a":',
  '{"a":1}x',
  '{"a":1,"a":2}',
  '\uFEFF1',
  '{"new":1}',
);
const text = fc
  .tuple(uniform, fc.array(fc.tuple(fc.nat(), odd), { maxLength: 2 }), fc.boolean())
  .map(([lines, odds, closed]) => {
    const all = [...lines];
    for (const [at, line] of odds) all.splice(at % (all.length + 1), 0, line);
    return all.join('\n') + (closed ? '\n' : '');
  });

const options = { name: 'f', signal: new AbortController().signal };

describe('pages of JSON Lines in the columns lane', () => {
  it('are those of the records lane, with its errors, at every block size', async () => {
    const limits = fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined });
    let columns = 0;
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.integer({ min: 1, max: 40 }),
        limits,
        async (input, size, limit) => {
          const bytes = Buffer.from(input);
          const bounds = { records: 3, bytes: 90 };
          const asColumns = await read(
            jsonColumnPages(cut(bytes, size), { ...options, bounds, limit }),
          );
          const asRecords = await read(
            cutPages(jsonLines(cut(bytes, 1000), options), {
              ...options,
              bounds,
              limit,
              lane: RECORDS_LANE,
            }),
          );
          expect({ ...asColumns, forms: [] }).toEqual({ ...asRecords, forms: [] });
          columns += asColumns.forms.filter((form) => form === 'columns').length;
        },
      ),
      { numRuns: 3000 },
    );
    expect(columns).toBeGreaterThan(1000);
  });

  it('are columns as long as the keys are in common order, with or without white space, and records otherwise', async () => {
    const formsOf = async (...lines: string[]): Promise<string[]> => {
      const bounds = { records: 2, bytes: 1000 };
      return (
        await read(
          jsonColumnPages(cut(Buffer.from(lines.join('\n')), 1000), { ...options, bounds }),
        )
      ).forms;
    };
    expect(
      await formsOf('{"a":1,"b":{"c":[1]}}', '{"a":2,"b":"x"}', '{"a": 3, "b": [1, 2]}'),
    ).toEqual(['columns', 'columns']);
    expect(await formsOf('{"a":1,"b":2,"c":3}', '{"a":2,"c":4}', '{"c":1}', '{}')).toEqual([
      'columns',
      'columns',
    ]);
    expect(await formsOf('{"b":1,"a":2}', '{"a":2,"b":4}', '{"a":1,"b":2}')).toEqual([
      'records',
      'columns',
    ]);
    expect(await formsOf('{"a":1}', '{"a":1,"b":2}', '{"a":1}', '{"a":1,"b":2}')).toEqual([
      'records',
      'columns',
    ]);
    expect(await formsOf('[1]', '{"a":1}', '{"a":1}', '{"a":1}')).toEqual(['records', 'columns']);
  });

  it('name the line that is not UTF-8', async () => {
    const bytes = Buffer.from([...Buffer.from('{"a":1}\n{"a":"'), 0xe9, ...Buffer.from('"}\n')]);
    const { error } = await read(
      jsonColumnPages(cut(bytes, 100), { ...options, bounds: { records: 1, bytes: 100 } }),
    );
    expect(error).toBe('line 2 of f is not UTF-8 text');
  });
});
