import { AckPolicy, DiscardPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { nkeys } from '@nats-io/transport-node';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  connection,
  makeConsumer,
  makeStream,
  manager,
  missing,
  publish,
  publishToListeners,
  start,
  stop,
  stored,
  unique,
  url,
} from '../../../test/conformance/fixtures/nats.ts';
import { sinkContext, sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { startNats, type NatsTestServer } from '../../../test/servers/nats.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { natsSink, natsSource } from './index.ts';

const LONG = 60_000;
const SECOND = 1_000_000_000;

async function opened(config: JsonObject, env: TestEnv = testEnv()): Promise<Source> {
  const checked = check(natsSource.config, { servers: [url()], ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return natsSource.open(checked.value, sourceContext({ env }));
}

interface ReadResult {
  readonly records: readonly JsonValue[];
  readonly pages: readonly Page[];
  readonly env: TestEnv;
}

async function read(
  config: JsonObject,
  { acknowledges = false, rejects = false } = {},
): Promise<ReadResult> {
  const env = testEnv();
  const source = await opened(config, env);
  const pages: Page[] = [];
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE, rejects })) {
      pages.push(page);
      if (acknowledges && page.bookmark !== undefined) await source.acknowledge?.(page.bookmark);
    }
  } finally {
    await source.close();
  }
  return { records: pages.flatMap((page) => [...page.records()]), pages, env };
}

const QUIET = { idle_timeout_secs: 0.3 };

const from = (stream: string, more: JsonObject = {}): JsonObject => ({
  subject: `${stream}.>`,
  jetstream_stream: stream,
  jetstream_consumer: 'loader',
  idle_timeout_secs: 60,
  ...more,
});

async function openWaiting(stream: string): Promise<number> {
  const facts = await (await manager()).consumers.info(stream, 'loader');
  return facts.num_pending + facts.num_ack_pending;
}

async function write(
  config: JsonObject,
  pages: readonly Page[],
  after?: () => Promise<unknown>,
): Promise<void> {
  const checked = check(natsSink.config, { servers: [url()], ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await natsSink.open(checked.value, sinkContext());
  try {
    for (const page of pages) {
      try {
        await sink.write(page, { partial: false });
      } catch (error) {
        if (after === undefined) throw error;
        await after();
        await sink.write(page, { partial: false });
      }
    }
  } finally {
    await sink.close();
  }
}

describe.skipIf(missing !== undefined)(`nats ${missing ?? ''}`, { timeout: LONG }, () => {
  beforeAll(start, LONG);
  afterAll(stop);

  describe('a subject', () => {
    it('gives payloads as JSON or text, and nothing of other subjects', async () => {
      const subject = unique('s');
      publishToListeners(subject, ['plain', { a: 1.5 }, '12', '', 'true story']);
      const { records } = await read({ subject, max_messages: 5 });
      expect(records).toEqual(['plain', { a: 1.5 }, 12, '', 'true story']);
    });

    it('leaves what is more than max_messages to the others of a group', async () => {
      const subject = unique('s');
      const group = { subject, queue_group: 'g', max_messages: 3 };
      publishToListeners(subject, [1, 2, 3]);
      const [one, other] = [read(group), read(group)];
      const found = [...(await one).records, ...(await other).records];
      // Each of the two made the publisher publish three.
      expect(found.map(String).sort()).toEqual(['1', '1', '2', '2', '3', '3']);
    });

    it('ends after a time without a message', async () => {
      const { records, pages } = await read({ subject: unique('s'), idle_timeout_secs: 0.2 });
      expect([records, pages]).toEqual([[], []]);
    });
  });

  describe('a consumer', () => {
    it('keeps what was acknowledged from coming again, and gives the rest at once', async () => {
      const stream = await makeStream();
      await makeConsumer(stream);
      await publish(`${stream}.a`, [1, 2, 3, 4, 5]);
      const source = await opened(from(stream, { batch_size: 2 }));
      for await (const { bookmark = null } of source.pages({ lane: RECORDS_LANE })) {
        await source.acknowledge?.(bookmark);
        break;
      }
      await source.close();
      const rest = from(stream, { max_messages: 3 });
      expect((await read(rest)).records).toEqual([3, 4, 5]);
      expect((await read(rest, { acknowledges: true })).records).toEqual([3, 4, 5]);
      expect((await read(from(stream, QUIET))).records).toEqual([]);
      expect(await openWaiting(stream)).toBe(0);
    });

    it('says so where what it is given back does not come again', async () => {
      const stream = await makeStream();
      await makeConsumer(stream, { max_deliver: 2 });
      await publish(`${stream}.a`, [1, 2]);
      const warnings = async (): Promise<JsonValue[]> => {
        const { env } = await read(from(stream, { max_messages: 2 }));
        return env.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line);
      };
      expect(await warnings()).toEqual([]);
      expect(await warnings()).toEqual([expect.stringMatching(/do not come again.*messages=2/)]);
    });

    it('tells of messages that the stream removed before they were read, and of no others', async () => {
      const stream = await makeStream();
      await makeConsumer(stream);
      const readSome = async (most: number) => {
        const config = from(stream, { max_messages: most });
        const { records, env } = await read(config, { acknowledges: true });
        const warnings = env.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line);
        return { records, warnings };
      };
      await publish(`${stream}.a`, [1, 2, 3, 4, 5, 6]);
      expect(await readSome(2)).toEqual({ records: [1, 2], warnings: [] });
      const { streams } = await manager();
      await streams.update(stream, { max_msgs: 2 });
      expect(await readSome(1)).toEqual({
        records: [5],
        warnings: [expect.stringMatching(/removed messages before.* messages=2$/)],
      });
      expect(await readSome(1)).toEqual({ records: [6], warnings: [] });
    });

    it('is asked for no more than max_messages', async () => {
      const stream = await makeStream();
      await makeConsumer(stream);
      await publish(`${stream}.a`, [1, 2, 3, 4, 5]);
      const { records } = await read(from(stream, { max_messages: 3 }), { acknowledges: true });
      expect(records).toEqual([1, 2, 3]);
      const facts = await (await manager()).consumers.info(stream, 'loader');
      expect([facts.num_pending, facts.delivered.stream_seq]).toEqual([2, 3]);
    });

    it('with all as its ack policy is told of the last message of a page', async () => {
      const stream = await makeStream();
      await makeConsumer(stream, { ack_policy: AckPolicy.All });
      await publish(`${stream}.a`, [1, 2, 3]);
      const all = from(stream, { max_messages: 3 });
      expect((await read(all, { acknowledges: true })).records).toEqual([1, 2, 3]);
      expect(await openWaiting(stream)).toBe(0);
    });

    it('with all as its ack policy does not forget what a run has left that was killed', async () => {
      const stream = await makeStream();
      await makeConsumer(stream, { ack_policy: AckPolicy.All, ack_wait: 2 * SECOND });
      await publish(`${stream}.a`, [1, 2, 3, 4]);
      const killed = await jetstream(connection()).consumers.get(stream, 'loader');
      await killed.next();
      await killed.next();
      const rest = from(stream, { idle_timeout_secs: 3 });
      const { records } = await read(rest, { acknowledges: true });
      expect(records).toEqual([3, 4, 1, 2]);
      expect(await openWaiting(stream)).toBe(0);
    });

    it('that is removed while it is read ends the run, and is told', async () => {
      const stream = await makeStream();
      await makeConsumer(stream);
      await publish(`${stream}.a`, [1, 2]);
      const source = await opened(from(stream, { max_messages: 2, batch_size: 2 }));
      expect.hasAssertions();
      for await (const { bookmark = null } of source.pages({ lane: RECORDS_LANE })) {
        await (await manager()).consumers.delete(stream, 'loader');
        await expect(source.acknowledge?.(bookmark)).rejects.toMatchObject({
          kind: 'missing',
          hint: expect.stringContaining('was removed') as string,
        });
      }
      await source.close();
    });

    it('without acknowledgements gives everything once', async () => {
      const stream = await makeStream();
      await makeConsumer(stream, { ack_policy: AckPolicy.None });
      await publish(`${stream}.a`, [1, 2, 3]);
      const all = from(stream, { max_messages: 3 });
      expect((await read(all, { acknowledges: true })).records).toEqual([1, 2, 3]);
      expect((await read(from(stream, QUIET))).records).toEqual([]);
    });

    it('hears that messages are worked on while a page is written', async () => {
      const stream = await makeStream();
      await makeConsumer(stream, { ack_wait: SECOND });
      await publish(`${stream}.a`, [1, 2]);
      let heard = 0;
      connection().subscribe(`$JS.ACK.${stream}.loader.>`, {
        callback: (_error, message) => {
          if (message.string() === '+WPI') heard += 1;
        },
      });
      const source = await opened(from(stream));
      const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
      await pages.next();
      await expect.poll(() => heard).toBeGreaterThanOrEqual(6);
      await source.close();
    });

    it('gives one page of as many messages as may be open', async () => {
      const stream = await makeStream();
      await makeConsumer(stream, { max_ack_pending: 4 });
      await publish(`${stream}.a`, [1, 2, 3, 4, 5, 6]);
      const { pages } = await read(from(stream, { batch_size: 0, max_messages: 6 }), {
        acknowledges: true,
      });
      expect(pages.map(({ count }) => count)).toEqual([4, 2]);
    });

    it('reads on after the server was started again', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'headgate-nats-store-'));
      let own: NatsTestServer = await startNats({ folder });
      try {
        const { connect } = await import('@nats-io/transport-node');
        const client = await connect({ servers: own.address, reconnectTimeWait: 100 });
        const { streams, consumers } = await jetstreamManager(client);
        await streams.add({ name: 'R', subjects: ['R.>'] });
        await consumers.add('R', { durable_name: 'loader', ack_policy: AckPolicy.Explicit });
        for (const n of [1, 2, 3]) await jetstream(client).publish('R.a', String(n));
        const config = from('R', { batch_size: 3 });
        const checked = check(natsSource.config, { servers: [own.url], ...config });
        if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
        const retry = {
          maxAttempts: 1000,
          backoff: 'none' as const,
          baseMs: 100,
          maxMs: 100,
          jitter: false,
          on: ['connection' as const, 'timeout' as const],
        };
        const source = await natsSource.open(checked.value, sourceContext({ retry }));
        const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
        const first = (await pages.next()).value as Page;
        const { port } = own;
        await own.stop();
        let next = pages.next();
        own = await startNats({ folder, port });
        await source.acknowledge?.(first.bookmark ?? null);
        for (const n of [4, 5]) await jetstream(client).publish('R.a', String(n), { retries: 50 });
        // What was not acknowledged when the server stopped may come twice.
        const found = new Set(first.records());
        while (found.size < 5) {
          for (const record of ((await next).value as Page).records()) found.add(record);
          next = pages.next();
        }
        next.catch(() => {});
        expect(found).toEqual(new Set([1, 2, 3, 4, 5]));
        await source.close();
        await client.close();
      } finally {
        await own.stop();
        await rm(folder, { recursive: true, force: true });
      }
    });

    it('that is none of pulling, not there, or of other subjects is refused', async () => {
      const stream = await makeStream({});
      const { consumers } = await manager();
      await consumers.add(stream, { durable_name: 'pushing', deliver_subject: unique('to') });
      await consumers.add(stream, { durable_name: 'bare', headers_only: true });
      await makeConsumer(stream, { filter_subject: `${stream}.a` });
      const refusals = [
        [{ jetstream_consumer: 'pushing' }, /push consumer/],
        [{ jetstream_consumer: 'bare' }, /headers without their messages/],
        [{ jetstream_consumer: 'nobody' }, /consumer `nobody` of the stream/],
        [{ subject: `${stream}.b` }, /gives `.*\.a`, and nothing of/],
      ] as const;
      for (const [more, message] of refusals)
        await expect(read(from(stream, more))).rejects.toThrow(message);
    });

    it('ends at a message outside of the subject, which stays', async () => {
      const stream = await makeStream();
      await makeConsumer(stream);
      await publish(`${stream}.a`, [1]);
      await publish(`${stream}.b`, [2]);
      const reading = read(from(stream, { subject: `${stream}.a` }));
      await expect(reading).rejects.toMatchObject({ code: 'connector_refused' });
      expect((await read(from(stream, { max_messages: 2 }))).records).toEqual([1, 2]);
    });
  });

  describe('a payload that is no text', () => {
    async function streamWithPoison(): Promise<string> {
      const stream = await makeStream();
      await makeConsumer(stream);
      await publish(`${stream}.a`, [1]);
      connection().publish(`${stream}.a`, new Uint8Array([0xff, 0xfe]));
      await connection().flush();
      await publish(`${stream}.a`, [3]);
      return stream;
    }

    it('ends the run, and is there for the next', async () => {
      const stream = await streamWithPoison();
      await expect(read(from(stream))).rejects.toThrow(/not UTF-8/);
      expect(await openWaiting(stream)).toBe(3);
    });

    it('is left out and acknowledged where that is asked for, also at the end', async () => {
      const stream = await streamWithPoison();
      const skips = { on_decode_error: 'skip' };
      const config = from(stream, { ...skips, max_messages: 3 });
      const { records, env } = await read(config, { acknowledges: true });
      expect(records).toEqual([1, 3]);
      expect(env.lines.filter(({ level }) => level === 'WARN')).toHaveLength(1);
      connection().publish(`${stream}.a`, new Uint8Array([0xff]));
      await connection().flush();
      const last = from(stream, { ...skips, max_messages: 1 });
      expect((await read(last, { acknowledges: true })).records).toEqual([]);
      expect(await openWaiting(stream)).toBe(0);
    });

    it('goes to the dead letters where that is asked for', async () => {
      const stream = await streamWithPoison();
      const config = from(stream, { on_decode_error: 'dlq', max_messages: 3 });
      const { records, pages } = await read(config, { acknowledges: true, rejects: true });
      expect(records).toEqual([1, 3]);
      expect(pages.flatMap(({ rejected }) => rejected)).toMatchObject([
        { base64: '//4=', input: `${stream}.a`, index: 1 },
      ]);
      expect(await openWaiting(stream)).toBe(0);
    });
  });

  it('pull consumers are discovered, with what is waiting', async () => {
    const stream = await makeStream();
    await makeConsumer(stream, { filter_subject: `${stream}.a` });
    await publish(`${stream}.a`, [1, 2]);
    const checked = check(natsSource.config, { servers: [url()], subject: 'x', max_messages: 1 });
    const found = checked.ok
      ? await natsSource.discover?.(checked.value, sourceContext())
      : undefined;
    expect(found?.filter(({ name }) => name.startsWith(stream))).toEqual([
      {
        name: `${stream}/loader`,
        kind: 'consumer',
        estimated_rows: 2,
        config_patch: {
          subject: `${stream}.a`,
          jetstream_stream: stream,
          jetstream_consumer: 'loader',
        },
      },
    ]);
  });

  describe('the sink', () => {
    it('takes the subject of a field, and sends nothing of a page with a wrong one', async () => {
      const stream = await makeStream();
      const config = { subject: `${stream}.other`, subject_field: 'to' };
      const good: JsonObject[] = [{ id: 1, to: `${stream}.x` }, { id: 2, to: null }, { id: 3 }];
      await write(config, [Page.ofRecords(good)]);
      const { streams } = await manager();
      const subjects = [1, 2, 3].map(
        async (seq) => (await streams.getMessage(stream, { seq }))?.subject,
      );
      expect(await Promise.all(subjects)).toEqual([
        `${stream}.x`,
        `${stream}.other`,
        `${stream}.other`,
      ]);
      for (const to of [5, 'a.*', 'a b', ''])
        await expect(
          write(config, [Page.ofRecords([{ id: 1 }, { id: 2, to }])]),
        ).rejects.toMatchObject({
          message: '`to` of a record is no subject to publish to',
          record: 1,
        });
      expect(await stored(stream)).toEqual(good);
    });

    it.each([1000, 1])(
      'sends nothing of a page with a record that the server would not take, %d at a time',
      async (batch_size) => {
        const stream = await makeStream();
        const page = Page.ofRecords([{ id: 1 }, { id: 2, v: 'x'.repeat(2_000_000) }]);
        const config = { subject: `${stream}.a`, batch_size };
        await expect(write(config, [page])).rejects.toMatchObject({
          code: 'connector_data',
          message: expect.stringMatching(/ 20000\d\d bytes/) as string,
          record: 1,
        });
        expect(await stored(stream)).toEqual([]);
      },
    );

    it('stores a page once that failed half way and is written again', async () => {
      const stream = await makeStream({ max_msgs: 2, discard: DiscardPolicy.New });
      const grow = async () =>
        (await manager()).streams.update(stream, { subjects: [`${stream}.>`], max_msgs: 10 });
      const page = Page.ofRecords([1, 2, 3, 4]);
      await write({ subject: `${stream}.a` }, [page], grow);
      expect(await stored(stream)).toEqual([1, 2, 3, 4]);
      await write({ subject: `${stream}.a` }, [page]);
      expect(await stored(stream)).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    });

    it('stores dead letters beside the records of their run in one stream', async () => {
      const stream = await makeStream();
      const context = sinkContext();
      for (const [role, record] of [
        ['main', 'good'],
        ['dlq', 'bad'],
      ] as const) {
        const config = { servers: [url()], subject: `${stream}.${role}` };
        const checked = check(natsSink.config, config);
        if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
        const sink = await natsSink.open(checked.value, { ...context, role });
        await sink.write(Page.ofRecords([record]), { partial: false });
        await sink.close();
      }
      expect(await stored(stream)).toEqual(['good', 'bad']);
    });

    it('tells what a full stream says', async () => {
      const stream = await makeStream({ max_msgs: 1, discard: DiscardPolicy.New });
      await expect(write({ subject: `${stream}.a` }, [Page.ofRecords([1, 2])])).rejects.toThrow(
        /maximum messages exceeded/,
      );
    });
  });
});

describe.skipIf(missing !== undefined)(`logins of nats ${missing ?? ''}`, { timeout: LONG }, () => {
  const servers: NatsTestServer[] = [];
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-nats-logins-'));
  });
  afterAll(async () => {
    for (const server of servers) await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function protectedServer(settings: string, more = {}): Promise<string> {
    const server = await startNats({ settings, ...more });
    servers.push(server);
    return server.url;
  }

  async function probe(address: string, auth: JsonObject | undefined): Promise<string> {
    const env = testEnv();
    const config = { servers: address, subject: 'x', ...(auth === undefined ? {} : { auth }) };
    const checked = check(natsSink.config, config);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const [finding] = (await natsSink.probe?.(checked.value, sinkContext({ env }))) ?? [];
    expect(JSON.stringify([finding, env.lines])).not.toContain('secret-word');
    expect(env.redactor.text('a no-secret-word')).not.toContain('secret-word');
    return finding?.status ?? '';
  }

  it('are a token or a user, of the config or of the address', async () => {
    const token = await protectedServer('authorization { token: "secret-word" }');
    const user = await protectedServer('authorization { user: "me", password: "secret-word" }');
    const withLogin = (address: string, login: string): string =>
      address.replace('//', `//${login}@`);
    const right = { type: 'user_password', config: { username: 'me', password: 'secret-word' } };
    expect(await probe(token, { type: 'token', config: { token: 'secret-word' } })).toBe('pass');
    expect(await probe(token, { type: 'token', token: 'no-secret-word' })).toBe('fail');
    expect(await probe(withLogin(token, 'secret-word'), undefined)).toBe('pass');
    expect(await probe(user, right)).toBe('pass');
    expect(await probe(user, { type: 'user_password', user: 'me', pass: 'no-secret-word' })).toBe(
      'fail',
    );
    expect(await probe(withLogin(user, 'me:secret-word'), undefined)).toBe('pass');
  });

  it('are the seed of a key, or a file with credentials', async () => {
    const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
    const [operator, account, user] = [
      nkeys.createOperator(),
      nkeys.createAccount(),
      nkeys.createUser(),
    ];
    const keyServer = await protectedServer(
      `authorization { users: [ { nkey: "${user.getPublicKey()}" } ] }`,
    );
    const probed = async (address: string, auth: JsonObject): Promise<string> => {
      const checked = check(natsSink.config, { servers: [address], auth, subject: 'x' });
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const [finding] = (await natsSink.probe?.(checked.value, sinkContext())) ?? [];
      return finding?.status ?? '';
    };
    const seed = text(user.getSeed());
    expect(await probed(keyServer, { type: 'n_key', config: { nkey: seed } })).toBe('pass');
    const other = text(nkeys.createUser().getSeed());
    expect(await probed(keyServer, { type: 'NKey', config: { nkey: other } })).toBe('fail');

    const jwt = (by: typeof operator, of: typeof operator, nats: JsonObject): string => {
      const part = (value: JsonObject): string =>
        Buffer.from(JSON.stringify(value)).toString('base64url');
      const claims = {
        jti: unique('id'),
        iat: 1,
        iss: by.getPublicKey(),
        name: 'n',
        sub: of.getPublicKey(),
      };
      const body = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ ...claims, nats })}`;
      return `${body}.${Buffer.from(by.sign(Buffer.from(body))).toString('base64url')}`;
    };
    const limits = { subs: -1, data: -1, payload: -1 };
    const accountLimits = {
      ...limits,
      conn: -1,
      leaf: -1,
      imports: -1,
      exports: -1,
      wildcards: true,
    };
    const operatorJwt = jwt(operator, operator, { type: 'operator', version: 2 });
    const accountJwt = jwt(operator, account, {
      type: 'account',
      version: 2,
      limits: accountLimits,
    });
    const userJwt = jwt(account, user, { type: 'user', version: 2, ...limits });
    const credsServer = await protectedServer(
      `operator: "${operatorJwt}"\nresolver: MEMORY\nresolver_preload { ${account.getPublicKey()}: "${accountJwt}" }`,
      { jetstream: false },
    );
    const path = join(folder, 'user.creds');
    const fence = (name: string, what: string): string =>
      `-----BEGIN ${name}-----\n${what}\n------END ${name}------\n`;
    await writeFile(path, fence('NATS USER JWT', userJwt) + fence('USER NKEY SEED', seed));
    expect(await probed(credsServer, { type: 'creds_file', config: { path } })).toBe('pass');
    expect(await probed(credsServer, { type: 'creds_file', config: { path: `${path}.no` } })).toBe(
      'fail',
    );
  });
});
