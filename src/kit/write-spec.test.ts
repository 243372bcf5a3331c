import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { check } from './schema.ts';
import {
  checkWriteFields,
  deleteMarker,
  keyedSpec,
  planKeyedPage,
  settle,
  writeFields,
  type KeyedSpec,
} from './write-spec.ts';

const schema = z
  .strictObject(writeFields(['append', 'upsert', 'delete']))
  .superRefine(checkWriteFields);
const upsert: KeyedSpec = { mode: 'upsert', key: ['id'], sameKey: 'value' };
const marked: KeyedSpec = { ...upsert, marker: { field: '__op', values: new Set(['d']) } };

function findings(config: unknown): string[] {
  const result = check(schema, config);
  return result.ok ? [] : result.issues.map((issue) => `${issue.path}: ${issue.message}`);
}

describe('the write fields', () => {
  test('absent and null mean the default', () => {
    const result = check(schema, { write_mode: null, key: null, delete_marker: null });
    expect(result).toEqual({ ok: true, value: { write_mode: 'append', key: [] } });
  });

  test('keyed modes need a key', () => {
    expect(findings({ write_mode: 'upsert' })).toEqual(['key: `write_mode: upsert` needs `key`']);
    expect(findings({ write_mode: 'delete', key: ['id'] })).toEqual([]);
  });

  test('a mode the sink does not offer is named', () => {
    expect(findings({ write_mode: 'overwrite' })[0]).toContain(
      '"overwrite" is not one of `append`, `upsert`, `delete`',
    );
  });

  test('a delete marker needs upsert and a field that is not a key', () => {
    const marker = { field: 'id', values: ['d'] };
    expect(
      findings({ write_mode: 'append', delete_marker: { field: 'op', values: ['d'] } }),
    ).toHaveLength(1);
    expect(findings({ write_mode: 'upsert', key: ['id'], delete_marker: marker })).toHaveLength(1);
  });

  test('a column named twice in the key is refused', () => {
    expect(findings({ write_mode: 'upsert', key: ['id', 'id'] })).toEqual([
      'key: `key` names a column twice',
    ]);
  });
});

describe('the plan of a page', () => {
  test('the last record of a key wins at the place of the first', () => {
    const plan = planKeyedPage([{ id: 1, v: 'a' }, { id: 2 }, { id: 1, v: 'b' }], upsert);
    expect(plan.upserts).toEqual([
      { index: 2, record: { id: 1, v: 'b' } },
      { index: 1, record: { id: 2 } },
    ]);
  });

  test('records without a usable key are rejected with their place in the page', () => {
    const plan = planKeyedPage([{ id: 1 }, { v: 'x' }, { id: null }, 'text'], upsert);
    expect(plan.upserts).toHaveLength(1);
    expect(plan.rejected.map((one) => [one.index, one.error.message])).toEqual([
      [1, 'key column `id` is missing'],
      [2, 'key column `id` is null'],
      [3, 'the record is not an object'],
    ]);
  });

  test('upsert and delete of one key: whichever came last', () => {
    const plan = planKeyedPage(
      [
        { id: 1, v: 1 },
        { id: 1, __op: 'd' },
        { id: 2, __op: 'd' },
        { id: 2, v: 2, __op: 'u' },
      ],
      marked,
    );
    expect(plan.deletes).toEqual([{ index: 1, record: { id: 1, __op: 'd' } }]);
    expect(plan.upserts).toEqual([{ index: 3, record: { id: 2, v: 2 }, replaces: true }]);
  });

  test.each([
    ['7', 7],
    ['true', true],
    [7, '7'],
    [true, 'true'],
    [1, true],
    [2 ** 53, 2n ** 53n],
    ['null', null],
  ])('the marker %o does not delete what has %o', (marker, value) => {
    const plan = planKeyedPage([{ id: 1, __op: value }], {
      ...marked,
      marker: { field: '__op', values: new Set([marker]) },
    });
    expect(plan.deletes).toEqual([]);
    expect(plan.upserts).toEqual([{ index: 0, record: { id: 1 } }]);
  });

  test.each([true, false, 1, 0, 'd', ''])('the marker %j deletes what has it', (value) => {
    const spec = { write_mode: 'upsert', key: ['id'] } as const;
    const given = check(schema, { ...spec, delete_marker: { field: '__op', values: [value] } });
    const plan = planKeyedPage([{ id: 1, __op: value }], {
      ...marked,
      marker: deleteMarker((given.ok ? given.value.delete_marker : undefined) as never),
    });
    expect(plan.deletes).toEqual([{ index: 0, record: { id: 1, __op: value } }]);
  });

  test('in delete mode every record with a key deletes', () => {
    const plan = planKeyedPage([{ id: 1 }, { id: 1 }, {}], { ...upsert, mode: 'delete' });
    expect([plan.upserts.length, plan.deletes.length, plan.rejected.length]).toEqual([0, 1, 1]);
  });

  test('keys of several columns never run together', () => {
    const spec: KeyedSpec = { mode: 'upsert', key: ['a', 'b'], sameKey: 'text' };
    expect(
      planKeyedPage(
        [
          { a: 'x","y', b: 'z' },
          { a: 'x', b: 'y","z' },
        ],
        spec,
      ).upserts,
    ).toHaveLength(2);
  });

  test('a number and its text are one key only where keys are compared as text', () => {
    const page = [{ id: 1 }, { id: '1' }, { id: 1n }];
    expect(planKeyedPage(page, upsert).upserts).toHaveLength(2);
    expect(planKeyedPage(page, { ...upsert, sameKey: 'text' }).upserts).toHaveLength(1);
  });

  test('every record is planned, rejected, or folded into a later one of the same key', () => {
    const record = fc.record(
      { id: fc.option(fc.integer({ min: 0, max: 3 })), __op: fc.constantFrom('d', 'u') },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(record), (page) => {
        const plan = planKeyedPage(page, marked);
        const last = new Map(
          page.flatMap((one, index) =>
            one.id === undefined || one.id === null ? [] : [[one.id, index] as const],
          ),
        );
        const planned = [...plan.upserts, ...plan.deletes].map((one) => one.index);
        expect(planned.toSorted((a, b) => a - b)).toEqual(
          [...last.values()].toSorted((a, b) => a - b),
        );
        expect(plan.rejected.length).toBe(
          page.filter((one) => one.id === undefined || one.id === null).length,
        );
      }),
    );
  });
});

test('rejections fail the page unless somebody takes the records', () => {
  const { rejected } = planKeyedPage([{ id: 1 }, {}], upsert);
  expect(settle(2, rejected, true)).toEqual({ written: 1, rejected });
  expect(() => settle(2, rejected, false)).toThrow(
    expect.objectContaining({
      message: 'a record cannot be written: key column `id` is missing',
      record: 1,
    }),
  );
  expect(() => settle(3, [...rejected, ...rejected], false)).toThrow(
    '2 records cannot be written; the first: key column `id` is missing',
  );
});

test('append and overwrite have no keyed spec', () => {
  expect(keyedSpec({ write_mode: 'append', key: ['id'] }, 'value')).toBeUndefined();
  expect(keyedSpec({ write_mode: 'upsert', key: ['id'] }, 'value')).toEqual(upsert);
});
