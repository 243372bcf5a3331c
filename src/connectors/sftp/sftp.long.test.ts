/** Against OpenSSH. The conformance suite reads and writes there too. */
import { createHmac } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sinkContext, sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { tcpProxy, type TcpProxy } from '../../../test/fakes/tcp-proxy.ts';
import { makeKey, sftpOrReason, type SftpServer } from '../../../test/servers/sftp.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { FinishReason } from '../../kit/sink.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { sftpSink, sftpSource } from './index.ts';
import { knownKeys } from './known-hosts.ts';

const found = sftpOrReason();
const LIMIT = 60_000;

const ids = (...all: number[]): JsonObject[] => all.map((id) => ({ id }));
const lines = (...all: number[]): string => all.map((id) => `{"id":${id}}\n`).join('');

const PASSWORD = { type: 'password', config: { password: 'pAsS-wOrD' } };
const SOMEWHERE = { host: 'h', username: 'u', path: '/in' };

describe('the config', () => {
  const issues = (config: JsonObject): string[] => {
    const checked = check(sftpSource.config, { ...SOMEWHERE, ...config });
    return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`);
  };

  test('a login is written at the top or as `auth`', () => {
    expect(issues(PASSWORD)).toEqual([]);
    expect(issues({ auth: PASSWORD })).toEqual([]);
    expect(issues({ auth: { type: 'private_key', path: 'key' } })).toEqual([
      expect.stringContaining('config'),
    ]);
    expect(issues({ type: 'private_key', config: { password: 'x' } })).toEqual([
      'config.path: `type: private_key` needs `path`',
      'config.password: `password` has no place in `type: private_key`',
    ]);
  });

  test('`jsonl` is `json_lines`, and a format that is not there is named by its field', () => {
    expect(issues({ ...PASSWORD, format: 'jsonl' })).toEqual([]);
    expect(issues({ ...PASSWORD, format: 'orc' })[0]).toMatch(/^format: .*orc/);
    expect(issues({ ...PASSWORD, glob: '*', pattern: '**' })[0]).toMatch(/^glob: /);
  });

  test('the address of the data set has no credentials', () => {
    const at = (more: JsonObject): string | undefined => {
      const checked = check(sftpSource.config, { ...SOMEWHERE, ...PASSWORD, ...more });
      return checked.ok ? sftpSource.datasetUri(checked.value) : undefined;
    };
    expect(at({})).toBe('sftp://h:22/in');
    expect(at({ host: '::1', port: '2222', path: 'in/a' })).toBe('sftp://[::1]:2222/in/a');
  });
});

test('lines of known hosts: patterns, hashed names, ports, revoked keys', () => {
  const salt = Buffer.from('salt of this line');
  const hash = createHmac('sha1', salt).update('[h.example]:2222').digest('base64');
  const content = [
    '# comment',
    'h.example,other ssh-ed25519 PLAIN',
    '*.example,!h.example ssh-ed25519 NOT',
    `|1|${salt.toString('base64')}|${hash} ssh-rsa HASHED`,
    '@revoked h.example ssh-rsa REVOKED',
    '@cert-authority h.example ssh-rsa SIGNER',
  ].join('\n');
  expect(knownKeys(content, 'h.example')).toEqual([
    { type: 'ssh-ed25519', key: 'PLAIN', isRevoked: false },
    { type: 'ssh-rsa', key: 'REVOKED', isRevoked: true },
  ]);
  expect(knownKeys(content, '[h.example]:2222').map(({ key }) => key)).toEqual(['HASHED']);
  expect(knownKeys(content, 'a.example').map(({ key }) => key)).toEqual(['NOT']);
});

describe.skipIf(found.start === undefined)(`an SFTP server [${found.reason ?? ''}]`, () => {
  let server: SftpServer;
  let proxy: TcpProxy;
  let folder: string;
  let hosts: string;
  let tests = 0;
  beforeAll(async () => {
    if (found.start === undefined) throw new Error(found.reason);
    server = await found.start();
    proxy = await tcpProxy({ host: '127.0.0.1', port: server.port });
  }, LIMIT);
  afterAll(async () => {
    await proxy.close();
    await server.stop();
  });
  beforeEach(() => {
    folder = join(server.files, `${(tests += 1)}`);
    mkdirSync(folder);
    hosts = join(server.folder, `known-${tests}`);
    writeFileSync(hosts, server.knownHost);
  });

  const place = (): JsonObject => ({
    host: '127.0.0.1',
    port: server.port,
    username: server.username,
    type: 'private_key',
    config: { path: server.key },
    known_hosts: { mode: 'strict', known_hosts_path: hosts },
    path: folder,
  });
  /** Through the network that tests cut. */
  const far = (): JsonObject => ({ port: proxy.port, known_hosts: { mode: 'insecure' } });
  const put = (name: string, content: string): void => writeFileSync(join(folder, name), content);
  const read = (config: JsonObject = {}, options: Parameters<typeof runSource>[2] = {}) =>
    runSource(sftpSource, { ...place(), ...config }, options);
  const open = (config: JsonObject, signal?: AbortSignal) => {
    const checked = check(sftpSink.config, { ...place(), ...config });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const env = testEnv({ clock: stillClock('2026-02-01T00:00:00Z') });
    return sftpSink.open(
      checked.value,
      sinkContext({ env, ...(signal === undefined ? {} : { signal }) }),
    );
  };
  async function write(
    config: JsonObject,
    records: readonly JsonValue[],
    { reason = 'success', signal }: { reason?: FinishReason; signal?: AbortSignal } = {},
  ): Promise<void> {
    const sink = await open(config, signal);
    try {
      await sink.write(Page.ofRecords(records), { partial: false });
      await sink.flush();
      await sink.finish(reason);
    } finally {
      await sink.close();
    }
  }
  const failure = async (work: Promise<unknown>): Promise<ConnectorError> => {
    const error: unknown = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error instanceof ConnectorError) return error;
    throw new Error(`it gave ${String(error)}`);
  };

  test(
    'files of a folder, in the order of their names; those below it and unfinished ones are left out',
    async () => {
      put('b.jsonl', lines(2));
      put('a.jsonl', lines(1));
      put('.c.jsonl.x.svc-tmp', 'broken');
      mkdirSync(join(folder, 'deep'));
      put('deep/d.jsonl', lines(4));
      expect((await read()).records).toEqual(ids(1, 2));
      expect((await read({ glob: '?.jsonl', path: `${folder}/` })).records).toEqual(ids(1, 2));
      expect((await read({ glob: 'b*' })).records).toEqual(ids(2));
      expect((await read({ pattern: '**/*.jsonl' })).records).toEqual(ids(1, 2, 4));
      expect((await read({ path: join(folder, 'b.jsonl') })).records).toEqual(ids(2));
    },
    LIMIT,
  );

  test(
    'a text with its path, and a folder by a value of the parent record',
    async () => {
      mkdirSync(join(folder, 'x'));
      put('x/a.txt', 'hello');
      const config = { path: `${folder}/{name}`, format: 'raw_text' };
      const { records } = await read(config, { context: { parent: { name: 'x' } } });
      expect(records).toEqual([{ path: join(folder, 'x/a.txt'), content: 'hello' }]);
    },
    LIMIT,
  );

  test(
    'only what changed since the last run',
    async () => {
      const by = { incremental: { by: 'mtime' }, stable_for_secs: 0 };
      const at = (name: string, secs: number): void =>
        void execFileSync('touch', ['-d', `@${1_700_000_000 + secs}`, join(folder, name)]);
      put('z', lines(1));
      at('z', 1);
      const first = await read(by);
      put('a', lines(2));
      at('a', 2);
      expect((await read(by, { bookmark: first.bookmark ?? null })).records).toEqual(ids(2));
    },
    LIMIT,
  );

  test(
    'a connection that is cut while a file is read: it is read on, and each record comes once',
    async () => {
      const all = Array.from({ length: 300_000 }, (_, id) => id);
      put('a.jsonl', all.map((id) => `{"id":${id}}\n`).join(''));
      const checked = check(sftpSource.config, { ...place(), ...far() });
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const env = testEnv({ clock: stillClock('2026-02-01T00:00:00Z') });
      const source = await sftpSource.open(checked.value, sourceContext({ env }));
      const got: JsonValue[] = [];
      let cuts = 2;
      for await (const page of source.pages({ lane: { form: 'records' } })) {
        got.push(...page.records());
        if (cuts-- <= 0) continue;
        proxy.cut();
        proxy.heal();
      }
      await source.close();
      expect(got.length).toBe(all.length);
      expect(got.at(-1)).toEqual({ id: all.length - 1 });
      expect(env.lines.some(({ line }) => line.includes('trying again'))).toBe(true);
    },
    LIMIT,
  );

  test(
    'a run makes one file in a folder that it makes too',
    async () => {
      await write({ path: join(folder, 'new/deeper'), file_extension: '.jsonl.gz' }, ids(1, 2));
      const [name = '', ...others] = readdirSync(join(folder, 'new/deeper'));
      expect(others).toEqual([]);
      expect(gunzipSync(readFileSync(join(folder, 'new/deeper', name))).toString()).toBe(
        lines(1, 2),
      );
    },
    LIMIT,
  );

  test.each(['failed', 'cancelled'] as const)(
    'a run that is %s leaves nothing',
    async (reason) => {
      await write({}, ids(1), { reason });
      expect(readdirSync(folder)).toEqual([]);
    },
    LIMIT,
  );

  const large = Array.from({ length: 12_000 }, (_, id) => ({ id, v: 'x'.repeat(1000) }));

  test(
    'a connection that is cut while a file is written: it is written on, and is whole',
    async () => {
      const seen = new Set<string>();
      let cuts = 3;
      const cutter = setInterval(() => {
        for (const name of readdirSync(folder)) seen.add(name);
        if (seen.size === 0 || cuts-- <= 0) return;
        proxy.cut();
        proxy.heal();
      }, 5);
      await write(far(), large).finally(() => clearInterval(cutter));
      expect((await read()).records).toEqual(large);
      expect(readdirSync(folder)).toHaveLength(1);
      expect([...seen][0]).toMatch(/^\..*svc-tmp$/);
    },
    LIMIT,
  );

  test(
    'what was sent is removed when the run is killed while it sends',
    async () => {
      const stop = new AbortController();
      const stopper = setInterval(() => {
        if (readdirSync(folder).length > 0) stop.abort(new Error('killed'));
      }, 1);
      const writing = write(far(), large, { signal: stop.signal });
      await expect(writing.finally(() => clearInterval(stopper))).rejects.toThrow('killed');
      expect(readdirSync(folder)).toEqual([]);
    },
    LIMIT,
  );

  test(
    'a server whose first line comes in pieces is no other server',
    async () => {
      put('a.jsonl', lines(1));
      const pieces = createServer((client) => {
        const upstream = connect({ host: '127.0.0.1', port: server.port });
        client.on('error', () => upstream.destroy()).pipe(upstream);
        upstream.on('error', () => client.destroy()).setNoDelay(true);
        void inPieces(upstream, client);
      }).listen(0, '127.0.0.1');
      await once(pieces, 'listening');
      const { port } = pieces.address() as AddressInfo;
      expect((await read({ ...far(), port })).records).toEqual(ids(1));
      pieces.close();
    },
    LIMIT,
  );

  test(
    'a server that cannot be reached again fails the run, and shows nothing',
    async () => {
      proxy.cut();
      const error = await failure(write(far(), ids(1)));
      proxy.heal();
      expect(error.kind).toBe('connection');
      expect(readdirSync(folder)).toEqual([]);
    },
    LIMIT,
  );

  test(
    'an overwrite replaces what runs have made, and nothing else',
    async () => {
      put('mine.jsonl', 'kept');
      await write({}, ids(1));
      await write({ write_mode: 'overwrite' }, ids(2));
      const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
      expect(texts.sort()).toEqual(['kept', lines(2)].sort());
    },
    LIMIT,
  );

  describe('the key of the server', () => {
    test(
      '`strict` refuses one that the file does not have',
      async () => {
        writeFileSync(hosts, '');
        const error = await failure(read());
        expect(error).toMatchObject({ kind: 'refused' });
        expect(error.message).toContain('the file has no key of [127.0.0.1]');
        rmSync(hosts);
        expect((await failure(read())).kind).toBe('missing');
      },
      LIMIT,
    );

    test(
      '`accept_new` remembers the first, and refuses another later',
      async () => {
        rmSync(hosts);
        put('a', lines(1));
        const known_hosts = { mode: 'accept_new', known_hosts_path: hosts };
        expect((await read({ known_hosts })).records).toEqual(ids(1));
        expect(readFileSync(hosts, 'utf8')).toBe(server.knownHost);
        expect((await read({ known_hosts })).records).toEqual(ids(1));
        expect(readFileSync(hosts, 'utf8')).toBe(server.knownHost);
        makeKey(join(folder, '../other'));
        const [, other] = readFileSync(join(folder, '../other.pub'), 'utf8').split(' ');
        const changed = server.knownHost.replace(/\S+$/m, other ?? '');
        writeFileSync(hosts, changed);
        expect((await failure(read({ known_hosts }))).message).toContain('another one than that');
        expect(readFileSync(hosts, 'utf8')).toBe(changed);
        expect((await read({ known_hosts: 'insecure' })).records).toEqual(ids(1));
      },
      LIMIT,
    );
  });

  describe('the login', () => {
    test(
      'a password that is refused is told as one, without it',
      async () => {
        const error = await failure(read(PASSWORD));
        expect(error.kind).toBe('auth');
        expect(error.message).not.toContain('pAsS-wOrD');
      },
      LIMIT,
    );

    test(
      'a key that is encrypted, with the right passphrase and without',
      async () => {
        const path = join(server.folder, `encrypted-${tests}`);
        execFileSync('cp', [server.key, path]);
        execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'sEcReT-pHrAsE', '-f', path]);
        put('a', lines(1));
        const config = { path, passphrase: 'sEcReT-pHrAsE' };
        expect((await read({ config })).records).toEqual(ids(1));
        expect((await failure(read({ config: { path } }))).kind).toBe('auth');
        const wrong = await failure(read({ config: { path, passphrase: 'wRoNg-pHrAsE' } }));
        expect(wrong.kind).toBe('auth');
        expect(wrong.message).not.toContain('wRoNg-pHrAsE');
      },
      LIMIT,
    );
  });

  test(
    'the doctor tries to write and leaves nothing; discovery lists folders, then files',
    async () => {
      const probe = async (more: JsonObject): Promise<readonly string[]> => {
        const checked = check(sftpSink.config, { ...place(), ...more });
        if (!checked.ok) throw new Error('no config');
        const findings = (await sftpSink.probe?.(checked.value, sinkContext())) ?? [];
        return findings.map(({ name, status }) => `${name} ${status}`);
      };
      expect(await probe({ path: join(folder, 'not/yet') })).toEqual(['network pass', 'auth pass']);
      expect(readdirSync(folder)).toEqual([]);
      expect(existsSync(join(folder, 'not'))).toBe(false);
      expect(await probe(PASSWORD)).toEqual(['auth fail']);
      expect(await probe({ path: '/proc/x' })).toEqual(['network pass', 'auth fail']);
      mkdirSync(join(folder, 'in'));
      put('in/a', '');
      const discover = async (path: string) => {
        const checked = check(sftpSource.config, { ...place(), path });
        if (!checked.ok) throw new Error('no config');
        return sftpSource.discover?.(checked.value, sourceContext());
      };
      const [at, file] = [`${folder}/in/`, `${folder}/in/a`];
      expect(await discover(folder)).toEqual([
        { name: at, kind: 'prefix', config_patch: { path: at } },
      ]);
      expect(await discover(at)).toEqual([
        { name: file, kind: 'object', config_patch: { path: file } },
      ]);
    },
    LIMIT,
  );
});

/** The first bytes one by one, the others as they come. */
async function inPieces(from: Socket, to: Socket): Promise<void> {
  to.setNoDelay(true);
  let count = 0;
  for await (const bytes of from as AsyncIterable<Buffer>) {
    let at = 0;
    for (; count < 60 && at < bytes.length; at += 1, count += 1) {
      to.write(bytes.subarray(at, at + 1));
      await pause(2);
    }
    to.write(bytes.subarray(at));
  }
  to.end();
}
