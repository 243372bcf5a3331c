/**
 * What governance promises about single records: masking, quality, contracts and the dead-letter
 * queue, through the program.
 */
import { createHash, createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, type Folder } from './folder.ts';

let folder: Folder;
// For each try of a test: some files are added to.
beforeEach(() => {
  folder = makeFolder('guarded');
});
afterEach(() => folder.remove());

interface Report {
  readonly code: number | null;
  readonly written: number;
  readonly diverted: number;
  readonly error: string | undefined;
  readonly stderr: string;
}

/**
 * Moves records from `<name>.in.jsonl` to `<name>.jsonl`, with the dead letters in
 * `<name>.dlq.jsonl`.
 */
async function move(
  name: string,
  records: readonly unknown[],
  pipeline: object,
  source: object = {},
): Promise<Report> {
  folder.records(`${name}.in.jsonl`, records);
  folder.document(`${name}.json`, {
    source: { type: 'jsonl', config: { path: `${name}.in.jsonl`, ...source } },
    sink: { type: 'jsonl', config: { path: `${name}.jsonl` } },
    dlq: { sink: { type: 'jsonl', config: { path: `${name}.dlq.jsonl` } } },
    ...pipeline,
  });
  const { code, stdout, stderr } = await folder.run([
    'run',
    `${name}.json`,
    '--output',
    'ndjson',
    '--log-level',
    'warn',
  ]);
  if (stdout === '') throw new Error(stderr);
  const row = JSON.parse(stdout) as { rows_out: number; dlq_count: number; error?: string };
  return { code, written: row.rows_out, diverted: row.dlq_count, error: row.error, stderr };
}

interface Envelope {
  readonly reason: string;
  readonly record_index: number;
  readonly payload: unknown;
  readonly error: { readonly kind: string; readonly message: string };
}

const letters = (name: string): Envelope[] => folder.lines(`${name}.dlq.jsonl`) as Envelope[];
const wrote = (name: string): boolean => existsSync(join(folder.path, `${name}.jsonl`));

describe('masking', () => {
  it('goes before quality and the dead letters, first rule first, subtree and all', async () => {
    const rules = [
      { match: { fields: ['gone'] }, action: { type: 'redact', mask: null } },
      { match: { fields: ['token'] }, action: { type: 'tokenize', prefix: 't_' } },
      { match: { field_pattern: '^secrets' }, action: { type: 'redact' } },
      { match: { value_detector: 'email' }, action: { type: 'hash' } },
      { match: { value_detector: 'credit_card' }, action: { type: 'partial' } },
      { match: { fields: ['short'] }, action: { type: 'partial', keep_last: 9, mask_char: '#' } },
      { match: { fields: ['box'] }, action: { type: 'partial', keep_last: 1 } },
    ];
    const quality = { record: [{ type: 'not_empty', field: 'must', on_failure: 'quarantine' }] };
    const record = {
      must: 'x',
      gone: [1],
      token: 'abc',
      secrets: { a: 1 },
      deep: [{ mail: 'Ann@Example.com' }, 'not mail@', 4111],
      card: '4111 1111 1111 1111',
      no_card: '4111 1111 1111 1112',
      short: 'ab',
      box: { n: 12, s: 'xyz', none: null, list: [true] },
    };
    const report = await move('masking', [record, { must: ' ', card: '4111111111111111' }], {
      quality,
      masking: { key: 'k3y!', rules },
    });
    expect(report).toMatchObject({ code: 0, written: 1, diverted: 1 });
    const digest = (text: string): string =>
      createHmac('sha256', 'k3y!').update(text).digest('hex');
    expect(folder.lines('masking.jsonl')).toEqual([
      {
        must: 'x',
        gone: null,
        token: `t_${digest('abc').slice(0, 16)}`,
        secrets: '***',
        deep: [{ mail: digest('Ann@Example.com') }, 'not mail@', 4111],
        card: '***************1111',
        no_card: '4111 1111 1111 1112',
        short: '##',
        box: { n: '*2', s: '**z', none: null, list: ['***e'] },
      },
    ]);
    expect(letters('masking')).toMatchObject([
      { reason: 'quality', record_index: 1, payload: { must: ' ', card: '************1111' } },
    ]);
  });

  it('without a key is a plain digest, and only where it applies', async () => {
    const rules = [
      { match: { fields: ['a'] }, action: { type: 'hash' }, applies_to: ['default'] },
      { match: { fields: ['b'] }, action: { type: 'hash' }, applies_to: ['csv'] },
    ];
    await move('scoped', [{ a: 1, b: 1 }], { masking: { rules } });
    expect(folder.lines('scoped.jsonl')).toEqual([
      { a: createHash('sha256').update('1').digest('hex'), b: 1 },
    ]);
  });
});

describe('quality', () => {
  it('diverts records by the first check they fail, and duplicates of a page', async () => {
    const quality = {
      record: [
        { type: 'not_null', field: 'id', on_failure: 'quarantine' },
        { type: 'compare', field: 'n', op: 'gte', value: 10, on_failure: 'quarantine' },
        { type: 'value_in_set', field: 's', values: ['a', 1], on_failure: 'quarantine' },
        {
          type: 'json_schema',
          schema: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
          on_failure: 'quarantine',
        },
      ],
      batch: [{ type: 'unique', fields: ['id'], on_failure: 'quarantine' }],
    };
    const good = { id: 1, n: 10, s: 'a' };
    const records = [
      good,
      { id: null, n: 1 },
      { id: 2, n: '50', s: 'a' },
      { id: 3, n: 11, s: 'b' },
      { id: 'x', n: 11, s: 1 },
      { ...good, again: true },
    ];
    const report = await move('quality', records, { quality });
    expect(report).toMatchObject({ code: 0, written: 1, diverted: 5 });
    expect(folder.lines('quality.jsonl')).toEqual([good]);
    expect(
      letters('quality')
        .toSorted((a, b) => a.record_index - b.record_index)
        .map(({ record_index, reason, error }) => [record_index, reason, error.kind]),
    ).toEqual([1, 2, 3, 4, 5].map((index) => [index, 'quality', 'QualityFailure']));
  });

  it('abort writes nothing of the page', async () => {
    const quality = {
      record: [{ type: 'type_is', field: 'id', expected: 'number', on_failure: 'abort' }],
    };
    const report = await move('abort', [{ id: 1 }, { id: 'x' }], { quality });
    expect(report).toMatchObject({ code: 1, written: 0 });
    expect(report.error).toContain('id');
    expect(wrote('abort')).toBe(false);
  });

  it('quarantine_batch diverts every survivor of the page', async () => {
    const quality = {
      batch: [{ type: 'null_rate', field: 'a', max: 0.5, on_failure: 'quarantine_batch' }],
    };
    const report = await move(
      'batch',
      [{ a: 1 }, { a: 2 }, { a: 3 }, {}, { a: null }, { b: 1 }],
      { quality },
      { batch_size: 3 },
    );
    expect(report).toMatchObject({ code: 0, written: 3, diverted: 3 });
    expect(letters('batch').map(({ payload }) => payload)).toEqual([{}, { a: null }, { b: 1 }]);
  });
});

describe('contract', () => {
  const contract = (on_breach: string): object => ({
    version: '2',
    on_breach,
    allow_extra_fields: false,
    fields: [
      { name: 'id', type: 'integer', min: 1 },
      { name: 'tag', type: 'string', required: false, nullable: true, enum: ['a', 'b'] },
      { name: 'note', type: 'string', required: false, min_length: 2, pattern: '^[a-z😀]+$' },
    ],
  });
  const good = [
    { id: 1, tag: null },
    { id: 2, note: '😀😀' },
  ];
  const bad = [
    { tag: 'a' },
    { id: null },
    { id: '1' },
    { id: 0 },
    { id: 3, tag: 'c' },
    { id: 4, note: '😀' },
    { id: 5, note: 'A1' },
    { id: 6, more: 1 },
    7,
  ];

  it('quarantine splits the page and says why', async () => {
    const report = await move('split', [...good, ...bad], { contract: contract('quarantine') });
    expect(report).toMatchObject({ code: 0, written: 2, diverted: bad.length });
    expect(folder.lines('split.jsonl')).toEqual(good);
    expect(letters('split').map(({ payload }) => payload)).toEqual(bad);
    expect(new Set(letters('split').map(({ reason, error }) => `${reason} ${error.kind}`))).toEqual(
      new Set(['contract ContractViolation']),
    );
  });

  it('fail keeps the pages before and writes nothing of this one', async () => {
    const report = await move(
      'strict',
      [...good, { id: 3 }, { id: 0 }],
      { contract: contract('fail') },
      { batch_size: 2 },
    );
    expect(report).toMatchObject({ code: 1, written: 2 });
    expect(report.error).toMatch(/id.*2|2.*id/);
    expect(folder.lines('strict.jsonl')).toEqual(good);
  });

  it('warn writes everything', async () => {
    const report = await move('warned', [...good, ...bad], { contract: contract('warn') });
    expect(report).toMatchObject({ code: 0, written: good.length + bad.length, diverted: 0 });
  });
});

describe('the dead-letter queue', () => {
  const dlq = (name: string, more: object): object => ({
    sink: { type: 'jsonl', config: { path: `${name}.dlq.jsonl` } },
    ...more,
  });
  const quality = { record: [{ type: 'not_null', field: 'id', on_failure: 'quarantine' }] };
  const records = [{ id: 1 }, {}, {}, {}, { id: 2 }, { id: 3 }];

  it('commits the page that goes over the budget, then fails', async () => {
    const report = await move(
      'budget',
      records,
      { quality, dlq: dlq('budget', { max_failures_total: 2 }) },
      { batch_size: 4 },
    );
    expect(report).toMatchObject({ code: 1, written: 1, diverted: 3 });
    expect(report.error).toContain('max_failures_total');
    expect(folder.lines('budget.jsonl')).toEqual([{ id: 1 }]);
    expect(letters('budget')).toHaveLength(3);
  });

  it('adds to what earlier runs left', async () => {
    await move('again', records, { quality });
    await move('again', records, { quality });
    expect(letters('again')).toHaveLength(6);
    expect(folder.lines('again.jsonl')).toHaveLength(3);
  });

  it('is fatal when it cannot be written', async () => {
    folder.write('blocked', 'a file where a folder should be');
    const report = await move('fatal', records, {
      quality,
      dlq: { sink: { type: 'jsonl', config: { path: 'blocked/x.jsonl' } } },
    });
    expect(report.code).toBe(1);
    expect(report.error).toContain('blocked');
  });
});
