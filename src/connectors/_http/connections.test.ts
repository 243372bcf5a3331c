import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { HttpClient } from './client.ts';
import { openConnections } from './connections.ts';
import { NO_RETRY } from './retry.ts';
import type { TlsBlock } from './tls.ts';

const folder = join(import.meta.dirname, 'test-certificates');
const file = (name: string): Buffer => readFileSync(join(folder, name));
const before = getCACertificates('default');
let server: HttpServer;

beforeAll(async () => {
  setDefaultCACertificates([...before, file('ca.pem').toString()]);
  const identity = { cert: file('server.pem'), key: file('server.key'), ca: file('ca.pem') };
  server = await startHttpServer([{ body: 'ok' }], {
    ...identity,
    requestCert: true,
    rejectUnauthorized: true,
  });
});
afterAll(async () => {
  setDefaultCACertificates(before);
  await server.close();
});

async function ask(tls: Omit<TlsBlock, 'min_version'> | undefined): Promise<number> {
  const env = testEnv({ cwd: folder });
  const needs =
    tls === undefined
      ? { connectTimeoutMs: 5000 }
      : { tls: { ...tls, min_version: '1.3' as const } };
  const connections = await openConnections(needs, env);
  try {
    const provider = {
      get: () => Promise.resolve({ headers: {}, query: {} }),
      invalidate: () => {},
    };
    const signal = new AbortController().signal;
    const client = new HttpClient({
      env,
      signal,
      provider,
      homes: [server.url],
      retry: NO_RETRY,
      fetch: connections.fetch,
    });
    return (await client.send({ method: 'GET', url: server.url })).status;
  } finally {
    await connections.close();
  }
}

describe('client certificates', () => {
  it('are shown from PEM files', async () => {
    expect(await ask({ client_cert: 'client.pem', client_key: 'client.key' })).toBe(200);
  });

  it('are shown from PEM text', async () => {
    expect(
      await ask({
        client_cert: file('client.pem').toString(),
        client_key: file('client.key').toString(),
      }),
    ).toBe(200);
  });

  it('are shown from a PKCS#12 file', async () => {
    expect(
      await ask({ client_identity_pkcs12: 'client.p12', pkcs12_password: 'open-sesame' }),
    ).toBe(200);
  });

  it('are missed by a server that wants one', async () => {
    await expect(ask(undefined)).rejects.toMatchObject({ kind: 'connection' });
  });

  it('that cannot be read are named', async () => {
    await expect(ask({ client_cert: 'none.pem', client_key: 'none.key' })).rejects.toThrow(
      /the certificate file none\.\w+ cannot be read/,
    );
  });
});
