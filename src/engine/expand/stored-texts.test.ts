/** Values of a SQLite file find their rows again, whatever JSON takes their texts for. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { documentOfTree } from '../../document/load.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';

const TEXTS = ['1.10', '1.1', '007', ' 12', '1e5', 'null', 'true', '10', 'plain'];

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'headgate-stored-texts-'));
  const db = new DatabaseSync(join(cwd, 'held.db'));
  db.exec('CREATE TABLE held (id INTEGER, version TEXT)');
  const insert = db.prepare('INSERT INTO held VALUES (?, ?)');
  for (const [id, text] of TEXTS.entries()) insert.run(id, text);
  db.close();
  return () => rm(cwd, { recursive: true, force: true });
});

const from = (query: string): JsonObject => ({
  type: 'sqlite',
  config: { database_url: 'sqlite:held.db', query },
});
const into = (path: string): JsonObject => ({ type: 'jsonl', config: { path, append: true } });
const LISTED = from('SELECT DISTINCT version FROM held');

test.each<[string, readonly JsonObject[]]>([
  [
    'listed by a fan-out row',
    [
      { id: 'versions', fan_out: { source: LISTED, select: 'version', as: 'text' } },
      {
        id: 'ids',
        for_each: ['versions'],
        source: from('SELECT id FROM held WHERE version = ${versions.text}'),
        sink: into('ids.jsonl'),
      },
    ],
  ],
  [
    'of a parent record',
    [
      { id: 'versions', source: LISTED, sink: into('versions.jsonl') },
      {
        id: 'ids',
        parent: 'versions',
        parent_key: 'version',
        source: from('SELECT id FROM held WHERE version = {version}'),
        sink: into('ids.jsonl'),
      },
    ],
  ],
])('%s', async (_where, matrix) => {
  const tree = {
    version: 1,
    name: 'p',
    pipeline: {},
    execution: { max_concurrent: 1 },
    matrix: [...matrix],
  };
  const plan = planDocument(documentOfTree(tree), parts, { cpus: 1 });
  const { invocations } = await run(plan, { env: testEnv({ cwd }) });
  expect(invocations.map(({ error }) => error)).toEqual(invocations.map(() => null));
  const ids = (await readFile(join(cwd, 'ids.jsonl'), 'utf8')).trimEnd().split('\n');
  expect(ids).toEqual(TEXTS.map((_text, id) => JSON.stringify({ id })));
});
