/** What every kind of trigger owes the server, as clauses that its fixtures are held to. */
import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { check } from '../../../src/kit/schema.ts';
import type {
  Look,
  RequestReceiver,
  TriggerDefinition,
  TriggerEvent,
  Watcher,
} from '../../../src/kit/trigger.ts';
import { ConnectorError, RefusedError } from '../../../src/lib/errors.ts';
import { uuidIds } from '../../../src/lib/ids.ts';
import type { JsonValue } from '../../../src/lib/text/json.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import type { RequestedFixture, TriggerFixture, WatchedSystem } from './subject.ts';

export const NAME = 'conform';

interface Clause<F> {
  /** Stable; broken kinds name the clause that must catch them. */
  readonly name: string;
  /** The second half of a sentence that starts with the kind. */
  readonly title: string;
  inapplicable?(system: F): string | undefined;
  /** Throws when the kind breaks the clause. */
  check(system: F, definition: TriggerDefinition): Promise<void>;
}

const open = { memory: undefined, awaySince: undefined };

function configOf(definition: TriggerDefinition, fields: object): unknown {
  const checked = check(definition.fields(), fields);
  assert.ok(checked.ok, JSON.stringify(checked.ok ? '' : checked.issues));
  return checked.value;
}

const context = { name: NAME, clock: systemClock, ids: uuidIds };

async function watcherOf(definition: TriggerDefinition, fields: object): Promise<Watcher> {
  const { events } = definition;
  assert.ok(events.by === 'watching');
  return events.open(configOf(definition, fields), context);
}

/** Looks with a watcher of its own, as another server or a later process would. */
async function lookOnce(
  definition: TriggerDefinition,
  fields: object,
  request: { readonly memory?: JsonValue; readonly awaySince?: Date } = {},
): Promise<Look> {
  const watcher = await watcherOf(definition, fields);
  try {
    const { signal } = new AbortController();
    return await watcher.look({ ...open, ...request, signal });
  } finally {
    await watcher.close();
  }
}

/** What is remembered of a system at which nothing has happened yet. */
async function atRest(definition: TriggerDefinition, system: WatchedSystem): Promise<JsonValue> {
  const look = await lookOnce(definition, system.fields());
  return look.memoryAfter(0);
}

const keysOf = ({ events }: Look): string[] => events.map(({ key }) => key);

function checkEvent(event: TriggerEvent, definition: TriggerDefinition, fields: object): void {
  for (const { name, isGroup } of definition.tokens(configOf(definition, fields)))
    if (isGroup !== true)
      assert.equal(typeof event.value(name), 'string', `\${trigger.${name}} has no value`);
  for (const [label, value] of Object.entries(event.labels))
    assert.ok(/^[a-z_]+$/.test(label) && typeof value === 'string', `the label ${label}`);
}

const WATCHED: readonly Clause<WatchedSystem>[] = [
  {
    name: 'quiet',
    title: 'notices nothing where nothing happens, and remembers it as JSON',
    async check(system, definition) {
      const memory = await atRest(definition, system);
      assert.deepEqual(JSON.parse(JSON.stringify(memory)), memory);
      const look = await lookOnce(definition, system.fields(), { memory });
      assert.deepEqual(keysOf(look), []);
    },
  },
  {
    name: 'notices',
    title: 'notices an event, with values for its tokens',
    async check(system, definition) {
      const memory = await atRest(definition, system);
      await system.happen();
      const { events } = await lookOnce(definition, system.fields(), { memory });
      const [event] = events;
      assert.ok(event !== undefined && events.length === 1, `${events.length} events`);
      assert.ok(event.key.startsWith(`trig:${NAME}:`), event.key);
      checkEvent(event, definition, system.fields());
    },
  },
  {
    name: 'once',
    title: 'notices no event again that was taken',
    async check(system, definition) {
      const memory = await atRest(definition, system);
      await system.happen();
      const look = await lookOnce(definition, system.fields(), { memory });
      const after = look.memoryAfter(look.events.length);
      assert.deepEqual(keysOf(await lookOnce(definition, system.fields(), { memory: after })), []);
    },
  },
  {
    name: 'again',
    title: 'notices an event that was not taken again, with the same key',
    async check(system, definition) {
      const memory = await atRest(definition, system);
      await system.happen();
      const look = await lookOnce(definition, system.fields(), { memory });
      const again = { memory: look.memoryAfter(0) };
      assert.deepEqual(keysOf(await lookOnce(definition, system.fields(), again)), keysOf(look));
    },
  },
  {
    name: 'rest',
    title: 'notices exactly those that were not taken',
    inapplicable: ({ severalAtOnce }) =>
      severalAtOnce ? undefined : 'a look notices one event at most',
    async check(system, definition) {
      const memory = await atRest(definition, system);
      for (let n = 0; n < 3; n += 1) await system.happen();
      const look = await lookOnce(definition, system.fields(), { memory });
      assert.equal(look.events.length, 3);
      const rest = await lookOnce(definition, system.fields(), { memory: look.memoryAfter(2) });
      assert.deepEqual(keysOf(rest), keysOf(look).slice(2));
    },
  },
  {
    name: 'keys',
    title: 'gives every event a key of its own',
    async check(system, definition) {
      let memory = await atRest(definition, system);
      const keys: string[] = [];
      for (let n = 0; n < 3; n += 1) {
        await system.happen();
        const look = await lookOnce(definition, system.fields(), { memory });
        keys.push(...keysOf(look));
        await system.settle();
        const settled = { memory: look.memoryAfter(1) };
        memory = (await lookOnce(definition, system.fields(), settled)).memoryAfter(0);
      }
      assert.equal(new Set(keys).size, 3, keys.join(' '));
    },
  },
  {
    name: 'before',
    title: 'does not count what was there before the very first look',
    inapplicable: ({ countsWhatWas }) => (countsWhatWas ? 'it says how things are' : undefined),
    async check(system, definition) {
      await system.happen();
      const first = await lookOnce(definition, system.fields());
      assert.deepEqual(keysOf(first), []);
      const second = { memory: first.memoryAfter(0) };
      assert.deepEqual(keysOf(await lookOnce(definition, system.fields(), second)), []);
    },
  },
  {
    name: 'meanwhile',
    title: 'notices at its first look what happened since the system was away',
    async check(system, definition) {
      const awaySince = new Date();
      await system.happen();
      const look = await lookOnce(definition, system.fields(), { awaySince });
      assert.equal(look.events.length, 1);
    },
  },
  {
    name: 'away',
    title: 'fails with a connector error while the system is away, which holds no secret',
    async check(system, definition) {
      const port = await unusedPort();
      const error: unknown = await lookOnce(definition, system.fields(`127.0.0.1:${port}`)).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof ConnectorError, `it gave ${String(error)}`);
      if (system.secret !== undefined)
        assert.ok(!`${error.message} ${error.hint ?? ''}`.includes(system.secret), error.message);
    },
  },
  {
    name: 'stops',
    title: 'ends a look within a second after it was stopped',
    async check(system, definition) {
      await withSilentServer(async (address) => {
        const watcher = await watcherOf(definition, system.fields(address));
        const stop = new AbortController();
        const looking = watcher.look({ ...open, signal: stop.signal }).catch(() => {});
        setTimeout(() => stop.abort(), 200);
        const late = Symbol('late');
        const ended = await Promise.race([
          looking,
          systemClock.sleep(1200, new AbortController().signal).then(() => late),
        ]);
        assert.notEqual(ended, late, 'the look goes on');
        await watcher.close();
      });
    },
  },
];

async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

/** It takes connections and never answers. */
async function withSilentServer(work: (address: string) => Promise<void>): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => {})));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  try {
    await work(`127.0.0.1:${address.port}`);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  }
}

function receiverOf(definition: TriggerDefinition, fields: object): RequestReceiver {
  const { events } = definition;
  assert.ok(events.by === 'request');
  return events.open(configOf(definition, fields), context);
}

const REQUESTED: readonly Clause<RequestedFixture>[] = [
  {
    name: 'notices',
    title: 'takes a request, with values for its tokens',
    async check({ fields, taken }, definition) {
      for (const request of taken)
        checkEvent(receiverOf(definition, fields).receive(request), definition, fields);
    },
  },
  {
    name: 'keys',
    title: 'gives every request a key of its own',
    async check({ fields, taken }, definition) {
      const receiver = receiverOf(definition, fields);
      const keys = taken.map((request) => receiver.receive(request).key);
      assert.equal(new Set(keys).size, 2);
      assert.ok(keys.every((key) => key !== ''));
    },
  },
  {
    name: 'once',
    title: 'gives a request that is repeated the key of the first, on any server',
    inapplicable: ({ repeated }) =>
      repeated === undefined ? 'it does not know repetitions' : undefined,
    async check({ fields, repeated }, definition) {
      assert.ok(repeated !== undefined);
      const keys = [1, 2].map(() => receiverOf(definition, fields).receive(repeated).key);
      assert.equal(keys[0], keys[1]);
    },
  },
  {
    name: 'refuses',
    title: 'refuses what it does not take, without its secret',
    async check({ fields, refused, secret }, definition) {
      const receiver = receiverOf(definition, fields);
      for (const [request, code] of refused) {
        let thrown: unknown;
        try {
          receiver.receive(request);
        } catch (error) {
          thrown = error;
        }
        assert.ok(thrown instanceof RefusedError, `it gave ${String(thrown)}`);
        assert.equal(thrown.code, code);
        const text = `${thrown.message} ${thrown.hint ?? ''}`;
        assert.ok(secret === undefined || !text.includes(secret), text);
      }
    },
  },
];

export interface HeldClause {
  readonly name: string;
  readonly title: string;
  /** Gives the reason where the clause does not apply; rejects where the kind breaks it. */
  hold(definition: TriggerDefinition): Promise<string | undefined>;
}

export function clausesOf(fixture: TriggerFixture): readonly HeldClause[] {
  return fixture.events === 'watching'
    ? WATCHED.map((clause) => held(clause, () => fixture.fresh()))
    : REQUESTED.map((clause) => held(clause, () => Promise.resolve(fixture)));
}

function held<F>(clause: Clause<F>, fresh: () => Promise<F>): HeldClause {
  return {
    name: clause.name,
    title: clause.title,
    async hold(definition) {
      const system = await fresh();
      const reason = clause.inapplicable?.(system);
      if (reason === undefined) await clause.check(system, definition);
      return reason;
    },
  };
}
