import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Page } from '../../kit/page.ts';
import { createParts } from '../../kit/parts.ts';
import { defineSource } from '../../kit/source.ts';
import type { StateStore, StateStoreDefinition } from '../../kit/state-store.ts';
import { parts as built } from '../../parts.ts';
import { fileState } from '../../state/file.ts';
import {
  type Done,
  type TestWorldOptions,
  runCommand,
  testWiring,
} from '../../../test/support/cli.ts';

/** Three records, each a page with its number as the bookmark. */
const counting = defineSource({
  type: 'counting',
  description: 'Numbers.',
  config: z.strictObject({}),
  examples: [],
  capabilities: () => ({ replay: 'positional', bookmarks: true, encodings: [] }),
  datasetUri: () => 'counting://',
  open: () =>
    Promise.resolve({
      async *pages({ bookmark }) {
        for (let id = Number(bookmark ?? 0) + 1; id <= 3; id += 1)
          yield await Promise.resolve(Page.ofRecords([{ id }], { bookmark: id }));
      },
      close: () => Promise.resolve(),
    }),
});
/** Called before a store lists what it has, and before it deletes something. */
let freeze: (at: 'list' | 'delete', key: string, store: StateStore) => Promise<void>;
const freezing: StateStoreDefinition = {
  ...fileState,
  open: async (config: z.infer<typeof fileState.config>, context) => {
    const store = await fileState.open(config, context);
    return {
      ...store,
      entries: async (key) => {
        await freeze('list', key, store);
        return store.entries(key);
      },
      deleteHeld: async (key, by) => {
        await freeze('delete', key, store);
        return store.deleteHeld(key, by);
      },
    };
  },
};
const parts = createParts({
  sources: [...built.sources.all, counting],
  sinks: built.sinks.all,
  transforms: built.transforms.all,
  states: built.states.all.map((one) => (one.type === 'file' ? freezing : one)),
  credentials: built.credentials.all,
  secrets: built.secrets.all,
});

let cwd: string;
beforeEach(() => {
  freeze = () => Promise.resolve();
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-state-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(line: string, options: TestWorldOptions = {}): Promise<Done> {
  return runCommand(line.split(' '), testWiring(parts), { cwd, ...options });
}

const PIPELINE = `version: 1
name: shop
pipeline:
  source: { type: counting, config: {} }
  state: { type: file, config: { path: state } }
`;
const MATRIX = `${PIPELINE}  sink: { type: jsonl, config: { path: out.jsonl } }
matrix:
  - { id: a, delivery: exactly_once, sink: { type: sqlite, config: { database_url: 'sqlite:out.db?mode=rwc', table_name: a, column_mapping: auto_map } } }
  - { id: b, sink: { type: jsonl, config: { path: b.jsonl, append: true } } }
  - { id: c, state: null, source: { type: jsonl, config: { path: c.jsonl } }, sink: { type: jsonl, config: { path: d.jsonl } } }
`;

function write(name: string, text: string): void {
  writeFileSync(path.join(cwd, name), text);
}

function database(name: string): DatabaseSync & Disposable {
  const db = new DatabaseSync(path.join(cwd, name));
  return Object.assign(db, { [Symbol.dispose]: () => db.close() });
}

function rowsIn(name: string, table: string): number {
  using db = database(name);
  return Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
}

beforeEach(() => {
  write('c.jsonl', '{"id":1}\n');
  write('d.yaml', MATRIX);
});

async function ran(): Promise<void> {
  const { code, err } = await cli('run d.yaml');
  expect([code, err]).toEqual([0, expect.any(String)]);
}

describe('state list', () => {
  it('shows the bookmark of every row, and that there is none', async () => {
    const before = await cli('state list d.yaml');
    expect(before.out).toMatch(/^a {2}.*nothing yet: the next run reads from the beginning/m);
    expect(before.out).toMatch(/^c {2}.*no state store/m);
    await ran();
    const after = await cli('state list d.yaml');
    expect(after.code).toBe(0);
    expect(after.out).toMatch(/^a +3 +\d+ \w+ ago$/m);
    expect(after.out).toMatch(/^b +3 +\d+ \w+ ago$/m);
  });

  it('is one JSON document with keys, values, commits and ages', async () => {
    await ran();
    const { out } = await cli('state list d.yaml --row a --output json');
    expect(JSON.parse(out)).toEqual({
      pipeline: 'shop',
      rows: [
        {
          row: 'a',
          state: 'file',
          delivery: 'exactly_once',
          bookmarks: [
            {
              key: 'shop::a',
              part: null,
              bookmark: 3,
              commit: 3,
              stored_at: expect.stringMatching(/^20/),
              age_secs: expect.any(Number),
            },
          ],
        },
      ],
      others: [],
    });
    const unknown = await cli('state list d.yaml --row aa');
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('one of: a, b, c')]);
  });

  it('names what belongs to no row, such as a row that was renamed', async () => {
    await ran();
    write('d.yaml', MATRIX.replace('id: b,', 'id: bee,'));
    expect((await cli('state list d.yaml')).err).toContain('1 other value');
    expect((await cli('state list d.yaml --all')).out).toMatch(/^other +shop::b /m);
  });
});

it('state show prints a bookmark whole', async () => {
  await ran();
  const { out } = await cli('state show d.yaml');
  expect(out).toContain('shop::a  file, commit 3, 20');
  expect(out).toMatch(/^ {2}3$/m);
});

describe('state reset', () => {
  it('asks, and changes nothing when the answer is no or nobody can be asked', async () => {
    await ran();
    const no = await cli('state reset d.yaml', { answers: [false] });
    expect([no.code, no.err]).toEqual([1, expect.stringContaining('nothing was changed')]);
    expect(no.err).toContain('a: shop::a, stored');
    expect(no.err).toContain('and the watermark at the sqlite destination');
    expect(no.err).toContain('the next run of a, b appends records');
    const alone = await cli('state reset d.yaml');
    expect([alone.code, alone.err]).toEqual([2, expect.stringContaining('`--yes`')]);
    expect(existsSync(path.join(cwd, 'state', 'shop%3A%3Aa.json'))).toBe(true);
    await ran();
    expect(rowsIn('out.db', 'a')).toBe(3);
  });

  it('has an exactly-once row read everything again, although its sink had a watermark', async () => {
    await ran();
    const reset = await cli('state reset d.yaml --row a', { answers: [true] });
    expect(reset.code).toBe(0);
    expect(reset.err).toContain('a: 1 bookmark and its watermark at the destination removed');
    {
      using out = database('out.db');
      expect(out.prepare('SELECT scope FROM _svc_commit_token').all()).toEqual([]);
    }
    await ran();
    expect(rowsIn('out.db', 'a')).toBe(6);
    expect(readFileSync(path.join(cwd, 'b.jsonl'), 'utf8').trim().split('\n')).toHaveLength(3);
  });

  it('removes a watermark of which the state store knows nothing any more', async () => {
    await ran();
    rmSync(path.join(cwd, 'state'), { recursive: true });
    const reset = await cli('state reset d.yaml --row a --yes --output json');
    expect(JSON.parse(reset.out)).toEqual({
      pipeline: 'shop',
      rows: [{ row: 'a', removed: [], watermark_removed: true, repeats_records: true }],
    });
    await ran();
    expect(rowsIn('out.db', 'a')).toBe(6);
  });

  it('is refused while a run holds one of the rows, and then resets none', async () => {
    await ran();
    const lease = { token: 'run-9', holder: { run_id: 'run-9' }, ends_ms: Date.now() + 60_000 };
    mkdirSync(path.join(cwd, 'state/.leases'), { recursive: true });
    write('state/.leases/shop%3A%3Ab.1', JSON.stringify(lease));
    const refused = await cli('state reset d.yaml --yes');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('run-9')]);
    const { rows } = JSON.parse((await cli('state list d.yaml --output json')).out) as {
      rows: { bookmarks: unknown[] }[];
    };
    expect(rows.map(({ bookmarks }) => bookmarks.length)).toEqual([1, 1, 0]);
  });

  it.each(['list', 'delete'] as const)(
    'removes nothing of a row that a run has had since it was frozen (before its %s)',
    async (at) => {
      await ran();
      freeze = async (now, _, store) => {
        if (now !== at) return;
        freeze = () => Promise.resolve();
        const other = { token: 'run-9', ttlMs: 60_000, holder: { run_id: 'run-9' } };
        const { token } = await store.lease('shop::a', other);
        await store.lease('shop::a', { ...other, instead: token });
        await store.put('shop::a', 7);
      };
      const reset = await cli('state reset d.yaml --row a --yes');
      expect([reset.code, reset.err]).toEqual([
        1,
        expect.stringMatching(/`shop::a` was taken over by (run `run-9`|another run)/),
      ]);
      expect((await cli('state show d.yaml --row a')).out).toMatch(/^ {2}7$/m);
      using out = database('out.db');
      const marks = out
        .prepare(`SELECT scope FROM _svc_commit_token WHERE scope = 'shop::a'`)
        .all();
      expect(marks).toHaveLength(at === 'list' ? 1 : 0);
    },
  );

  it('says so when nothing is stored', async () => {
    const { code, err } = await cli('state reset d.yaml --row b --yes');
    expect([code, err]).toEqual([0, expect.stringContaining('nothing is stored for these rows')]);
  });
});
