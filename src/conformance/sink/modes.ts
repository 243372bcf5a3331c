/** Clauses about the write modes: upsert, delete, the delete marker, overwrite. */
import assert from 'node:assert/strict';
import type { WriteMode } from '../../kit/sink.ts';
import type { SinkClause } from './clause.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { Destination } from '../../kit/sink-fixture.ts';
import { row, write, type SinkSubject } from './subject.ts';

const without =
  (mode: WriteMode) =>
  (subject: SinkSubject): string | undefined =>
    subject.offers(mode) ? undefined : `has no mode \`${mode}\``;

const upsert: SinkClause = {
  name: 'upsert',
  title: 'keeps one record for each key, the last one, in a page, across pages and across runs',
  inapplicable: without('upsert'),
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.keyed(to.config);
    await subject.run(config, [
      [row(1), row(2), row(1, 'b')],
      [row(2, 'c'), row(3)],
    ]);
    await subject.expectRows(to, [row(1, 'b'), row(2, 'c'), row(3)], 'after one run');
    await subject.run(config, [[row(1, 'd')], [row(4)]]);
    const expected = [row(1, 'd'), row(2, 'c'), row(3), row(4)];
    await subject.expectRows(to, expected, 'after a second run');
  },
};

const repeats: SinkClause = {
  name: 'repeat',
  title: 'changes nothing when a page comes again',
  inapplicable: without('upsert'),
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.keyed(to.config);
    const page = [row(1), row(2), row(2, 'last')];
    await subject.run(config, [page]);
    const once = await to.rows();
    await subject.run(config, [page, page]);
    await subject.expectRows(to, once ?? [], 'after the page came three times');
  },
};

const marker: SinkClause = {
  name: 'delete-marker',
  title: 'removes the row of a marked record, and never stores the marker',
  inapplicable: without('upsert'),
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.keyed(to.config, { delete_marker: { field: '__op', values: ['d'] } });
    await subject.run(config, [
      [row(1), { ...row(2), __op: 'i' }, { ...row(3), __op: 'i' }],
      [
        { id: 2, __op: 'd' },
        { id: 9, __op: 'd' },
      ],
      [
        { ...row(3), __op: 'd' },
        { ...row(3, 'back'), __op: 'i' },
      ],
      [
        { ...row(4), __op: 'i' },
        { ...row(4), __op: 'd' },
      ],
    ]);
    await subject.expectRows(to, [row(1), row(3, 'back')], 'after marked records');
  },
};

const remade: SinkClause = {
  name: 'delete-then-upsert',
  title: 'keeps nothing of a row that a page deletes and makes again, as two pages would',
  inapplicable: without('upsert'),
  async check(subject) {
    const config = (to: Destination): JsonObject =>
      subject.keyed(to.config, { delete_marker: { field: '__op', values: ['d'] } });
    const steps: readonly JsonObject[] = [
      { id: 1, __op: 'd' },
      { id: 1, __op: 'i' },
      { ...row(2), __op: 'd' },
      { ...row(2, 'again'), __op: 'i' },
      { id: 3, __op: 'i' },
    ];
    for (const pages of [[steps], steps.map((step) => [step])]) {
      const to = await subject.fresh();
      await subject.run(config(to), [[row(1), row(2), row(3)]]);
      await subject.run(config(to), pages);
      const expected = [{ id: 1, v: null }, row(2, 'again'), row(3)];
      await subject.expectRows(to, expected, `after ${pages.length} pages`);
    }
  },
};

const deleting: SinkClause = {
  name: 'delete',
  title: 'removes the rows with the keys it is given, and no others',
  inapplicable: without('delete'),
  async check(subject) {
    const to = await subject.fresh();
    await subject.run(subject.keyed(to.config), [[row(1), row(2), row(3)]]);
    const config = { ...to.config, write_mode: 'delete', key: ['id'] };
    assert.equal(await subject.run(config, [[{ id: 1 }, { id: 7 }], [row(3)]]), 3);
    await subject.expectRows(to, [row(2)], 'after deleting by key');
  },
};

const overwrite: SinkClause = {
  name: 'overwrite',
  title: 'replaces everything at a successful end, and shows the old records until then',
  inapplicable: without('overwrite'),
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.overwriting(to.config);
    await subject.run(to.config, [[row(1), row(2)]]);
    await subject.using(config, async (sink) => {
      for (const id of [3, 4]) {
        await write(sink, [row(id)]);
        await sink.flush();
        await subject.expectRows(to, [row(1), row(2)], 'before an overwrite is finished');
      }
      await sink.finish('success');
    });
    await subject.expectRows(to, [row(3), row(4)], 'after an overwrite');
    await subject.run(config, []);
    await subject.expectRows(to, [], 'after an overwrite without records');
  },
};

const unfinishedOverwrite: SinkClause = {
  name: 'overwrite-unfinished',
  title: 'leaves everything as it was when an overwrite fails, is cancelled, closed or killed',
  inapplicable: without('overwrite'),
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.overwriting(to.config);
    await subject.run(to.config, [[row(1), row(2)]]);
    for (const reason of ['failed', 'cancelled'] as const) {
      await subject.run(config, [[row(9)]], reason);
      await subject.expectRows(to, [row(1), row(2)], `after an overwrite that ${reason}`);
    }
    await subject.using(config, (sink) => write(sink, [row(9)]));
    await subject.expectRows(to, [row(1), row(2)], 'after an overwrite that was only closed');
    const steps = [{ do: 'write', records: [row(9)] }, { do: 'flush' }] as const;
    await subject.writeAndKill(config, steps, to);
    await subject.expectRows(to, [row(1), row(2)], 'after an overwrite that was killed');
    await subject.run(config, [[row(5)]]);
    await subject.expectRows(to, [row(5)], 'after an overwrite that follows a killed one');
  },
};

export const MODES: readonly SinkClause[] = [
  upsert,
  repeats,
  marker,
  remade,
  deleting,
  overwrite,
  unfinishedOverwrite,
];
