/** Results that come in parts and over connections that break, against a server of the tests. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FakeSpanner, type Answers } from '../../../../test/fakes/spanner.ts';
import { stillClock } from '../../../../test/fakes/clock.ts';
import { testEnv } from '../../../../test/fakes/env.ts';
import { CODES, type PartialResult } from '../api.ts';
import type { Cell } from '../cells.ts';
import { SpannerLink } from '../link.ts';
import { resultRows, Rows } from './stream.ts';

const field = (name: string, code: number) => ({ name, type: { code } });
const METADATA = { row_type: { fields: [field('a', CODES.STRING), field('b', CODES.ARRAY)] } };
const part = (values: readonly Cell[], more: Partial<PartialResult> = {}): PartialResult => ({
  values,
  chunked_value: false,
  resume_token: new Uint8Array(),
  ...more,
});
const first = (values: readonly Cell[], more: Partial<PartialResult> = {}): PartialResult =>
  part(values, { metadata: METADATA, ...more });
const cut = { chunked_value: true };

describe('rows in parts', () => {
  const joined = (...parts: readonly PartialResult[]) => {
    const rows = new Rows();
    const all = parts.flatMap((one) => rows.add(one));
    rows.end();
    return all;
  };

  it('are whole when their last value is', () => {
    expect(joined(first(['x']), part([['y'], 'z']), part([[]]))).toEqual([
      ['x', ['y']],
      ['z', []],
    ]);
  });

  it('have texts and lists that were cut, at any depth', () => {
    expect(
      joined(first(['ab'], cut), part(['cd'], cut), part(['e', ['1']], cut), part([['2', '3']])),
    ).toEqual([['abcde', ['12', '3']]]);
    expect(joined(first(['x', [['1']]], cut), part([[['2'], null]]))).toEqual([
      ['x', [['12'], null]],
    ]);
    expect(joined(first(['x', [null]], cut), part([[null, '2']]))).toEqual([
      ['x', [null, null, '2']],
    ]);
    expect(joined(first(['x', ['1']], cut), part([[]]))).toEqual([['x', ['1']]]);
    expect(joined(first(['x', [1]], cut), part([[2]]))).toEqual([['x', [1, 2]]]);
  });

  it('are refused where the result ends inside of one', () => {
    expect(() => joined(first(['x']))).toThrow('ended in the middle of a row');
    expect(() => joined(first(['x', ['1']], cut))).toThrow('ended in the middle of a row');
    expect(() => joined(first(['x', ['1']], cut), part(['2']))).toThrow('do not fit');
  });
});

describe('a result', () => {
  let fake: FakeSpanner;
  beforeAll(async () => void (fake = await FakeSpanner.start()));
  afterAll(() => fake.close());
  afterEach(() => {
    fake.calls.length = 0;
    fake.answer = undefined;
  });

  const place = (token: string) => ({ resume_token: Buffer.from(token) });
  const LOST = { code: 14, details: 'the connection is gone' };

  async function read(...answers: readonly Answers[]): Promise<readonly (readonly Cell[])[]> {
    let asked = 0;
    fake.answer = ({ method }) =>
      method === 'ExecuteStreamingSql' ? (answers[asked++] ?? []) : undefined;
    const env = testEnv({ clock: stillClock('2026-02-01T00:00:00Z') });
    const link = new SpannerLink(
      {
        project_id: 'p',
        instance: 'i',
        database: 'd',
        auth: { type: 'anonymous' },
        max_sessions: 1,
        emulator_host: fake.host,
      },
      { env, signal: new AbortController().signal },
    );
    try {
      const found: (readonly Cell[])[] = [];
      const newest = { single_use: { read_only: { strong: true } } };
      for await (const { rows } of resultRows(link, { sql: 'SELECT 1' }, newest))
        found.push(...rows);
      return found;
    } finally {
      await link.close();
    }
  }

  it('goes on where the server says, without a row twice', async () => {
    const rows = await read(
      [first(['1', []], place('one')), part(['2', []]), LOST],
      [part(['2', []], place('two')), part(['3'], cut), LOST],
      [part(['3', []])],
    );
    expect(rows.map(([id]) => id)).toEqual(['1', '2', '3']);
    const tokens = fake.seen('ExecuteStreamingSql').map(({ request }) => request['resume_token']);
    expect(tokens.map((token) => token && Buffer.from(token as Uint8Array).toString())).toEqual([
      undefined,
      'one',
      'two',
    ]);
  });

  it('begins again where nothing was given on, and fails where something was', async () => {
    expect(await read([first(['1', []]), LOST], [first(['1', []])])).toHaveLength(1);
    const many = Array.from({ length: 8 }, (_, at) =>
      at === 0 ? first(['1', []]) : part(['1', []]),
    );
    await expect(read([...many, LOST], [first(['1', []])])).rejects.toMatchObject({
      kind: 'connection',
    });
  });

  it('is given up after some attempts, and at once for other errors', async () => {
    await expect(read(...Array.from({ length: 20 }, () => [LOST]))).rejects.toMatchObject({
      kind: 'connection',
    });
    expect(fake.seen('ExecuteStreamingSql')).toHaveLength(6);
    fake.calls.length = 0;
    await expect(read([{ code: 3, details: 'Syntax error' }])).rejects.toThrow('Syntax error');
    expect(fake.seen('ExecuteStreamingSql')).toHaveLength(1);
  });

  it('gets a new session where the old one is gone', async () => {
    const gone = { code: 5, details: 'Session not found: session' };
    expect(await read([gone], [first(['1', []])])).toHaveLength(1);
    expect(fake.seen('CreateSession')).toHaveLength(2);
  });

  it('removes its session at the end', async () => {
    await read([first(['1', []])]);
    expect(fake.seen('DeleteSession').map(({ request }) => request)).toEqual([{ name: 'session' }]);
  });
});
