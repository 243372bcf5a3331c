/** Encrypted connections: whom they trust, and what is said where they cannot be made. */
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSource } from '../../../test/fakes/run-source.ts';
import { CERTIFICATES, tlsProxy, type TlsProxy } from '../../../test/fakes/tls-proxy.ts';
import { redisOrReason, type RedisServer } from '../../../test/servers/redis.ts';
import { redisSource } from './index.ts';

const redis = redisOrReason();

describe.skipIf(redis.reason !== undefined)(`redis with TLS ${redis.reason ?? ''}`, () => {
  let server: RedisServer;
  let proxy: TlsProxy;
  const trusted = getCACertificates('default');

  beforeAll(async () => {
    if (redis.reason === undefined) server = await redis.start();
    proxy = await tlsProxy(Number(new URL(server.url).port));
    const client = new Redis(server.url);
    await client.rpush('l', '1', '2');
    client.disconnect();
  });
  afterAll(async () => {
    setDefaultCACertificates(trusted);
    await proxy.close();
    await server.stop();
  });

  const read = (url: string) =>
    runSource(redisSource, { url, source_type: { type: 'List', key: 'l' } });

  it('refuses a server that nobody vouches for, and says how to trust it', async () => {
    await expect(read(`rediss://127.0.0.1:${proxy.port}`)).rejects.toMatchObject({
      kind: 'refused',
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string,
    });
  });

  it('reads from a server whose authority is trusted', async () => {
    setDefaultCACertificates([...trusted, readFileSync(CERTIFICATES.ca, 'utf8')]);
    const { records } = await read(`rediss://127.0.0.1:${proxy.port}`);
    expect(records).toEqual([1, 2]);
  });
});
