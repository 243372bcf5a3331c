/** Clauses about what a sink says of itself: flags, address, files, errors, probe. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { Sink, SinkCapabilities, WriteMode } from '../../kit/sink.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import type { WrittenFile } from '../../lib/files/written-file.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { sinkContext } from '../contexts.ts';
import type { SinkClause } from './clause.ts';
import { connectorFailureOf, row, write, type SinkSubject } from './subject.ts';

const modes: SinkClause = {
  name: 'modes',
  title: 'offers append and only modes that its config takes, each with what it implies',
  async check(subject) {
    const { config } = await subject.fresh();
    assert.ok(subject.offers('append'), 'a sink appends');
    assert.equal(subject.capabilities.writeMode, 'append', 'the fixture asks for appending');
    for (const mode of subject.capabilities.writeModes) {
      const can = subject.capabilitiesOf(configIn(config, mode));
      assert.equal(can.writeMode, mode);
      assert.deepEqual([...can.key], isKeyed(mode) ? ['id'] : [], `the key of mode ${mode}`);
      assert.equal(can.idempotent, isKeyed(mode), `whether mode ${mode} may be repeated`);
    }
  },
};

function configIn(config: JsonObject, mode: WriteMode): JsonObject {
  if (mode === 'append') return config;
  return { ...config, write_mode: mode, ...(isKeyed(mode) ? { key: ['id'] } : {}) };
}

/** Each flag, and whether the open sink has the member that it stands for. */
const MEMBERS: readonly (readonly [
  flag: string,
  claimed: (can: SinkCapabilities) => boolean,
  member: (sink: Sink) => boolean,
])[] = [
  ['token', (can) => can.token, (sink) => sink.tokens !== undefined],
  ['schema', (can) => can.schema !== 'none', (sink) => sink.schema !== undefined],
  ['schema: evolve', (can) => can.schema === 'evolve', (sink) => sink.schema?.evolve !== undefined],
  ['sweep', (can) => can.sweep === true, (sink) => sink.sweep !== undefined],
  ['fenced', (can) => can.fenced === true, (sink) => sink.takeScope !== undefined],
  ['rollback', (can) => can.rollback === true, (sink) => sink.rollback !== undefined],
];

const flags: SinkClause = {
  name: 'flags',
  title: 'has the members that its flags stand for, and no others, in every mode',
  async check(subject) {
    for (const mode of subject.capabilities.writeModes) {
      const config = configIn((await subject.fresh()).config, mode);
      const can = subject.capabilitiesOf(config);
      await subject.using(config, async (sink) => {
        for (const [flag, claimed, member] of MEMBERS) {
          const [says, has] = [claimed(can), member(sink)];
          assert.equal(
            has,
            says,
            says
              ? `\`capabilities.${flag}\` is claimed in mode ${mode}, and the member is missing`
              : `the sink has the member of \`capabilities.${flag}\` in mode ${mode}, and does not claim it`,
          );
        }
      });
    }
  },
};

const outputs: SinkClause = {
  name: 'outputs',
  title: 'lists the local files that it wrote, new ones and those that were there',
  async check(subject) {
    const to = await subject.fresh();
    const parsed = subject.parse(to.config);
    const path = subject.definition.localPath?.(parsed);
    const isFile = path !== undefined || subject.definition.datasetUri(parsed).startsWith('file:');
    const before = new Set<string>();
    for (const time of ['the first time', 'the second time']) {
      const files = await filesOf(subject, to.config);
      const message = isFile
        ? 'writes local files, and has no `outputs`'
        : 'lists files, and names none';
      assert.equal(files !== undefined, isFile, `it ${message}`);
      if (files === undefined) return;
      assert.ok(files.length > 0, `${time} it wrote files and lists none`);
      for (const file of files) {
        assert.ok(existsSync(file.path), `${file.path} is not there`);
        const isNew = !before.has(file.path);
        assert.equal(file.before === 'nothing', isNew, `${time} ${file.path}: ${file.before}`);
        before.add(file.path);
      }
      if (path !== undefined) assert.equal(files[0]?.path, path);
    }
  },
};

/** What the sink lists after a run; `undefined` where it lists nothing. */
async function filesOf(
  subject: SinkSubject,
  config: JsonObject,
): Promise<readonly WrittenFile[] | undefined> {
  let files: readonly WrittenFile[] | undefined;
  await subject.using(config, async (sink) => {
    if (sink.outputs === undefined) return;
    await write(sink, [row(1)]);
    await sink.flush();
    await sink.finish('success');
    files = sink.outputs();
  });
  return files;
}

const address: SinkClause = {
  name: 'address',
  title: 'names its data set by an address without credentials',
  async check(subject) {
    const uri = subject.definition.datasetUri(subject.parse((await subject.fresh()).config));
    assert.match(uri, /^[a-z][a-z0-9+.-]*:\/\//);
    assert.doesNotMatch(uri, /:\/\/[^/?]*:[^/?@]*@/);
    leaksNothing(subject, uri);
  },
};

const broken: SinkClause = {
  name: 'broken-config',
  title: 'answers a config that cannot work with a typed error that leaks nothing',
  async check(subject) {
    for (const [what, config] of Object.entries(subject.fixture.broken())) {
      const { message } = await connectorFailureOf(subject.run(config, [[row(1)]]), what);
      assert.ok(message.length > 10, `the message about ${what} says nothing: ${message}`);
      leaksNothing(subject, message);
    }
  },
};

const probe: SinkClause = {
  name: 'probe',
  title: 'answers a probe with findings, and writes nothing',
  inapplicable: ({ definition }) => (definition.probe === undefined ? 'has no probe' : undefined),
  async check(subject) {
    const to = await subject.fresh();
    const good = (await subject.definition.probe?.(subject.parse(to.config), sinkContext())) ?? [];
    assert.ok(good.length > 0, 'a probe without findings');
    assert.ok(
      good.every(({ status }) => status !== 'fail'),
      `a good config fails: ${JSON.stringify(good)}`,
    );
    await subject.expectRows(to, [], 'after a probe');
    for (const [what, config] of Object.entries(subject.fixture.broken())) {
      const parsed = subject.parse(config);
      for (const { status, reason } of (await subject.definition.probe?.(parsed, sinkContext())) ??
        []) {
        if (status === 'pass') continue;
        assert.ok((reason ?? '').trim() !== '', `the probe of ${what} gives no reason`);
        leaksNothing(subject, reason ?? '');
      }
    }
  },
};

function leaksNothing({ fixture: { secret } }: SinkSubject, text: string): void {
  if (secret !== undefined) assert.ok(!text.includes(secret), 'a secret stands in a message');
}

const deadLetters: SinkClause = {
  name: 'dead-letters',
  title: 'appends as a dead-letter queue, whatever its config says, and durably at every flush',
  async check(subject) {
    const to = await subject.fresh();
    for (const id of [1, 2]) {
      const sink = await subject.open(to.config, { role: 'dlq' });
      await write(sink, [row(id), row(id)]);
      await sink.flush();
      const expected = Array.from({ length: 2 * id }, (_, n) => row(1 + Math.floor(n / 2)));
      await subject.expectRows(to, expected, 'after a flush of dead letters');
      await sink.finish('success');
      await sink.close();
    }
    assert.equal((await to.rows())?.length, 4, 'dead letters of an earlier run are gone');
  },
};

export const FLAGS: readonly SinkClause[] = [
  modes,
  flags,
  outputs,
  address,
  broken,
  probe,
  deadLetters,
];
