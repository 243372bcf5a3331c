/** Encrypted connections: whom they trust, and what is said where they cannot be made. */
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sinkContext } from '../../../test/fakes/env.ts';
import { CERTIFICATES } from '../../../test/fakes/tls-proxy.ts';
import { nats, startNats, type NatsTestServer } from '../../../test/servers/nats.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { natsSink } from './index.ts';

describe.skipIf(nats.reason !== undefined)(`nats with TLS ${nats.reason ?? ''}`, () => {
  let encrypted: NatsTestServer;
  let plain: NatsTestServer;
  const trusted = getCACertificates('default');

  beforeAll(async () => {
    const { cert, key } = CERTIFICATES;
    encrypted = await startNats({ settings: `tls { cert_file: "${cert}", key_file: "${key}" }` });
    plain = await startNats();
  });
  afterAll(async () => {
    setDefaultCACertificates(trusted);
    await encrypted.stop();
    await plain.stop();
  });

  const write = async (server: NatsTestServer, more: JsonObject): Promise<number> => {
    const servers = [`nats://127.0.0.1:${server.port}`];
    const checked = check(natsSink.config, { servers, subject: 'orders', ...more });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await natsSink.open(checked.value, sinkContext());
    try {
      return (await sink.write(Page.ofRecords([{ id: 1 }]), { partial: false })).written;
    } finally {
      await sink.close();
    }
  };

  it('refuses a server that nobody vouches for, and says how to trust it', async () => {
    await expect(write(encrypted, { tls: true })).rejects.toMatchObject({
      kind: 'refused',
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string,
    });
  });

  it('does not write to a server without TLS where TLS is wanted', async () => {
    await expect(write(plain, { tls: true })).rejects.toThrow(/TLS|tls|secure/);
  });

  it('writes to a server whose authority is trusted', async () => {
    setDefaultCACertificates([...trusted, readFileSync(CERTIFICATES.ca, 'utf8')]);
    expect(await write(encrypted, { tls: true })).toBe(1);
    const servers = [`tls://127.0.0.1:${encrypted.port}`];
    expect(await write(encrypted, { servers })).toBe(1);
  });
});
