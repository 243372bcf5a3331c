/** Clauses about the destination itself: its columns, what can be read back from it, what is swept. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SinkContext } from '../../kit/context.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { ReadBack, SchemaAccess, Sink } from '../../kit/sink.ts';
import {
  isObject,
  jsonText,
  parseJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { sourceContext } from '../contexts.ts';
import type { SinkClause } from './clause.ts';
import { row, write, type SinkSubject } from './subject.ts';

const noSchema = ({ capabilities: { schema } }: SinkSubject): string | undefined =>
  schema === 'none' ? 'has no columns to look at' : undefined;

function schemaOf({ schema }: Sink): SchemaAccess {
  if (schema === undefined)
    assert.fail('`capabilities.schema` is not `none`, and there is no `schema`');
  return schema;
}

const columns: SinkClause = {
  name: 'columns',
  title: 'tells the columns that are there, and that there is no table yet',
  inapplicable: noSchema,
  async check(subject) {
    const to = await subject.fresh();
    await subject.using(to.config, async (sink) => {
      assert.equal(await schemaOf(sink).current(), undefined, 'columns without a table');
      await write(sink, [row(1)]);
      await sink.flush();
      const live = (await schemaOf(sink).current()) ?? [];
      const found = live.map(({ name, types }) => [name, types[0]]);
      assert.deepEqual(found, [
        ['id', 'integer'],
        ['v', 'string'],
      ]);
    });
  },
};

const look: SinkClause = {
  name: 'look',
  title: 'opened only to be asked for its columns, tells them and makes nothing',
  inapplicable: noSchema,
  async check(subject) {
    const to = await subject.fresh();
    const seen = (parsed: unknown, changes: Partial<SinkContext> = { onlyReads: true }) =>
      subject.usingParsed(parsed, async (sink) => schemaOf(sink).current(), changes);
    const parsed = subject.parse(to.config);
    const before = await seen(parsed);
    await subject.expectRows(to, [], 'after a look at nothing');
    assert.deepEqual(before, await seen(parsed, {}));
    const folder = mkdtempSync(join(tmpdir(), 'headgate-look-'));
    try {
      const inside = subject.definition.temporary?.(parsed, folder);
      if (inside !== undefined) assert.equal(await seen(inside), undefined, 'columns of nothing');
      assert.deepEqual(readdirSync(folder), [], 'something was made by a look');
    } finally {
      rmSync(folder, { recursive: true });
    }
    await subject.run(to.config, [[row(1)]]);
    const live = (await seen(parsed)) ?? [];
    assert.equal(live.length, 2, 'columns of what was written');
    assert.deepEqual(live, await seen(parsed, {}));
    await subject.expectRows(to, [row(1)], 'after a look');
  },
};

const evolve: SinkClause = {
  name: 'evolve',
  title: 'adds and widens columns as asked, once however often it is asked',
  inapplicable: (subject) =>
    subject.capabilities.schema === 'evolve' ? undefined : 'does not change columns',
  async check(subject) {
    const to = await subject.fresh();
    await subject.run(to.config, [[row(1)]]);
    await subject.using(to.config, async (sink) => {
      const schema = schemaOf(sink);
      if (schema.evolve === undefined)
        assert.fail('`capabilities.schema` is `evolve`, and there is no `evolve`');
      await schema.evolve({ add: [], widen: [], relaxNull: [] });
      const change = {
        add: [{ name: 'extra', type: 'string' }],
        widen: [{ name: 'id', type: 'number' }],
        relaxNull: ['v'],
      } as const;
      await schema.evolve(change);
      await schema.evolve(change);
      await write(sink, [{ id: 2.5, v: null, extra: 'new' }]);
      await sink.flush();
    });
    const rows = ((await to.rows()) ?? []).map(({ id, v, extra }) => [Number(id), v, extra]);
    assert.deepEqual(rows, [
      [1, 'v1', null],
      [2.5, null, 'new'],
    ]);
  },
};

const sweep: SinkClause = {
  name: 'sweep',
  title: 'removes the rows inside the scope that were not seen, and no others',
  inapplicable: ({ keyedCapabilities }) =>
    keyedCapabilities?.sweep === true ? undefined : 'does not remove vanished rows',
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.keyed(to.config);
    await subject.run(config, [[row(1, 'a'), row(2, 'a'), row(3, 'a'), row(4, 'b'), row(5, 'b')]]);
    await subject.using(config, async (sink) => {
      if (sink.sweep === undefined)
        assert.fail('`capabilities.sweep` is true, and there is no `sweep`');
      await write(sink, [row(2, 'a')]);
      await sink.flush();
      const removed = await sink.sweep({ scope: { v: 'a' }, keys: [[2], [99]] });
      const expected = [row(2, 'a'), row(4, 'b'), row(5, 'b')];
      await subject.expectRows(to, expected, 'after a sweep');
      assert.equal(removed, 2, 'the number of removed rows');
      assert.equal(await sink.sweep({ scope: { v: 'none' }, keys: [] }), 0);
      assert.equal(await sink.sweep({ scope: { v: 'b' }, keys: [[4], [5]] }), 0);
      await subject.expectRows(to, expected, 'after sweeps of nothing');
      await assert.rejects(sink.sweep({ scope: { nowhere: 1 }, keys: [] }));
      await subject.expectRows(to, expected, 'after a sweep by a column that is not there');
      assert.equal(await sink.sweep({ scope: { v: 'b' }, keys: [] }), 2);
    });
    await subject.expectRows(to, [row(2, 'a')], 'after the last sweep');
    const none = subject.keyed((await subject.fresh()).config);
    const count = await subject.using(none, async (sink) =>
      sink.sweep?.({ scope: { v: 'a' }, keys: [] }),
    );
    assert.equal(count, 0, 'a sweep without a table');
  },
};

const readBack: SinkClause = {
  name: 'read-back',
  title: 'names a source that reads what is there',
  inapplicable: ({ definition }) =>
    definition.readBack === undefined ? 'cannot be read back' : undefined,
  async check(subject) {
    const to = await subject.fresh();
    const keyed = subject.offers('upsert');
    const config = keyed ? subject.keyed(to.config) : to.config;
    const pages = keyed
      ? [[row(1), row(2)], [row(1, 'last')]]
      : [[row(1), row(2)], [row(3, 'é "x", y')]];
    await subject.run(config, pages);
    const rows = (await to.rows()) ?? [];
    assert.deepEqual(await readRows(subject, config), textsOf(rows), 'what is read is not there');
  },
};

const temporary: SinkClause = {
  name: 'temporary',
  title: 'can be made anew in a folder, and is not touched itself by that',
  inapplicable: ({ definition }) =>
    definition.temporary === undefined ? 'takes more than a folder' : undefined,
  async check(subject) {
    const to = await subject.fresh();
    await subject.run(to.config, [[row(1)]]);
    const folder = mkdtempSync(join(tmpdir(), 'headgate-temporary-'));
    try {
      const parsed = subject.definition.temporary?.(subject.parse(to.config), folder);
      const sink = await subject.openParsed(parsed);
      await write(sink, [row(7), row(8)]);
      await sink.flush();
      await sink.finish('success');
      await sink.close();
      assert.deepEqual(
        await readParsed(subject, parsed),
        textsOf([row(7), row(8)]),
        'what was written to the temporary destination',
      );
      await subject.expectRows(to, [row(1)], 'after writing to a temporary one');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

function readRows(subject: SinkSubject, config: JsonObject): Promise<string[]> {
  return readParsed(subject, subject.parse(config));
}

async function readParsed(subject: SinkSubject, parsed: unknown): Promise<string[]> {
  const back = subject.definition.readBack?.(parsed);
  if (back === undefined) return assert.fail('`readBack` names no source for this config');
  const records = await readAll(subject, back);
  const field = back.recordIn;
  return textsOf(
    field === undefined
      ? records
      : records.map((one) => recordIn(isObject(one) ? one[field] : one)),
  );
}

function recordIn(value: JsonValue | undefined): JsonValue {
  return typeof value === 'string' ? parseJson(value) : (value ?? null);
}

async function readAll(
  { tools }: SinkSubject,
  { type, config }: ReadBack,
): Promise<readonly JsonValue[]> {
  const definition = tools.sources.find((one) => one.type === type);
  if (definition === undefined) return assert.fail(`there is no source \`${type}\``);
  const checked = check(definition.config, config);
  if (!checked.ok) return assert.fail(JSON.stringify(checked.issues));
  const source = await definition.open(checked.value, sourceContext());
  const records: JsonValue[] = [];
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE })) records.push(...page.records());
  } finally {
    await source.close();
  }
  return records;
}

/** Numbers as text: a file of text gives numbers back as text. */
function textsOf(records: readonly JsonValue[]): string[] {
  return records
    .map((one) =>
      isObject(one)
        ? `${jsonText(one['id'] ?? null)} ${jsonText(one['v'] ?? null)}`
        : JSON.stringify(one),
    )
    .sort();
}

export const DESTINATION: readonly SinkClause[] = [
  columns,
  look,
  evolve,
  sweep,
  readBack,
  temporary,
];
