import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { callbackSchema, type Callback } from '../../wire/run.ts';
import { maskCallback, PAYLOAD_KEYS, validateCallback } from './callback-rules.ts';
import {
  CALLER,
  outcomeOf,
  refusalOf,
  rest,
  submission,
  testService,
  type TestService,
} from '../../../test/support/runs.ts';

const callback = (over: Partial<Callback> = {}): Callback => ({
  ...callbackSchema.parse({ url: 'https://receiver.example/hook' }),
  ...over,
});
const OPEN = { allowHosts: [], clustered: false };

describe('callback rules', () => {
  it.each([
    'http://localhost:9/x',
    'http://127.0.0.1/x',
    'http://10.0.0.7/x',
    'https://u:p@receiver.example/hook?a=1',
    'http://[::1]:8080/',
    'http://metadata.example/',
  ])('accept %s', (url) => {
    expect(() => validateCallback(callback({ url }), OPEN)).not.toThrow();
  });

  it.each([
    'ftp://receiver.example/',
    'file:///etc/passwd',
    'not a url',
    'http://169.254.169.254/latest/meta-data',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376/',
    'http://[fe80::1]/',
    'http://[::ffff:169.254.169.254]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[::169.254.169.254]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[fd00:ec2::254]/',
    'http://metadata.google.internal/',
    'http://METADATA.google.internal./',
    'http://metadata/',
    'http://metadata.goog/',
    'http://instance-data/',
    'http://100.100.100.200/',
  ])('refuse %s', (url) => {
    expect(() => validateCallback(callback({ url }), OPEN)).toThrow(
      expect.objectContaining({ code: 'unprocessable' }),
    );
  });

  it('accept only listed hosts when there is a list, which may name a link-local one in any case', () => {
    const rules = { allowHosts: ['Receiver.Example', '169.254.169.254', '::1'], clustered: false };
    for (const url of [
      'https://receiver.EXAMPLE:8443/x',
      'http://169.254.169.254/',
      'http://[::1]/',
    ]) {
      expect(() => validateCallback(callback({ url }), rules)).not.toThrow();
    }
    expect(() => validateCallback(callback({ url: 'https://other.example/' }), rules)).toThrow(
      'not one of those',
    );
  });

  it.each([
    ['a status no run ends with', { on: ['completed', 'running'] }, '`running`'],
    ['an unknown status', { on: ['done'] }, '`done`'],
    ['a method that cannot be sent', { method: 'trace' }, 'TRACE'],
    ['fields for a body that is not sent', { method: 'get', extra_fields: { a: 1 } }, 'GET'],
    ['a header that cannot be sent', { headers: { 'bad name': 'x' } }, 'bad name'],
    ['a header value with a line break', { headers: { a: 'x\r\ny: z' } }, '"a"'],
    // Not a body of the wrong form, which would be another status.
    ['an empty address', callbackSchema.parse({ url: '' }), 'not a URL'],
    ['a header of the connection', { headers: { 'Content-Length': '1' } }, 'Content-Length'],
  ])('refuse %s', (_what, over, text) => {
    expect(() => validateCallback(callback(over), OPEN)).toThrow(text);
  });

  it.each(PAYLOAD_KEYS)('refuse an extra field called %s', (key) => {
    expect(() => validateCallback(callback({ extra_fields: { [key]: 1 } }), OPEN)).toThrow(
      `\`${key}\``,
    );
  });

  it('refuse headers on a clustered server', () => {
    const rules = { allowHosts: [], clustered: true };
    expect(() => validateCallback(callback({ headers: { a: 'b' } }), rules)).toThrow('clustered');
    expect(() => validateCallback(callback(), rules)).not.toThrow();
  });

  it('mask header values and credentials in the record', () => {
    const masked = maskCallback(
      callback({
        url: 'https://u:hunter22@receiver.example/hook',
        headers: { authorization: 'Bearer hunter22' },
      }),
    );
    expect(masked).toMatchObject({
      url: 'https://receiver.example/hook',
      headers: { authorization: '***' },
    });
    expect(JSON.stringify(masked)).not.toContain('hunter22');
  });
});

interface Request {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}

class Receiver {
  readonly requests: Request[] = [];
  readonly #server: Server;
  readonly #statuses: number[];
  #arrived: (() => void)[] = [];

  constructor(statuses: number[]) {
    this.#statuses = statuses;
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        this.requests.push({
          method: request.method,
          url: request.url,
          headers: request.headers,
          body: (body === '' ? {} : JSON.parse(body)) as Record<string, unknown>,
        });
        const status = this.#statuses.shift() ?? 200;
        response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('thanks');
        for (const resolve of this.#arrived.splice(0)) resolve();
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when `count` requests have come. */
  async received(count: number): Promise<void> {
    while (this.requests.length < count)
      await new Promise<void>((resolve) => this.#arrived.push(resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const receivers: Receiver[] = [];
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((made) => made.close()));
});

async function receiver(...statuses: number[]): Promise<{ receiver: Receiver; url: string }> {
  const made = new Receiver(statuses);
  receivers.push(made);
  return { receiver: made, url: await made.listen() };
}

/** Submits, ends the run, and waits until deliveries have ended while time passes. */
async function runWith(
  over: Partial<Callback>,
  end = outcomeOf(),
): Promise<{ service: TestService; id: string }> {
  const service = await testService({ fetch });
  const id = await service.submit({
    name: 'orders',
    labels: { team: 'data' },
    callback: callback(over),
  });
  await service.clock.advance(1500);
  service.executor.last.end({ type: 'finished', outcome: end });
  const drained = new AbortController();
  const drain = service.runs.drain(600_000).then(() => drained.abort());
  while (!drained.signal.aborted) await service.clock.advance(100);
  await drain;
  return { service, id };
}

describe('callbacks', () => {
  it.each(['GET', 'delete'])('go out as %s', async (method) => {
    const { receiver: to, url } = await receiver();
    await runWith({ url, method });
    expect(to.requests).toMatchObject([{ method: method.toUpperCase() }]);
    expect(to.requests[0]?.headers['content-type']).toBe(
      method === 'GET' ? undefined : 'application/json',
    );
  });

  it('tell the receiver once, with what was asked for', async () => {
    const { receiver: to, url } = await receiver();
    const { id } = await runWith({
      url: `${url.replace('http://', 'http://u:p%40ss@')}/hook?x=1`,
      method: 'put',
      headers: { 'x-key': 'k' },
      extra_fields: { environment: 'test' },
    });
    expect(to.requests).toHaveLength(1);
    const [request] = to.requests;
    expect(request).toMatchObject({ method: 'PUT', url: '/hook?x=1' });
    expect(request?.headers).toMatchObject({
      'x-key': 'k',
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from('u:p@ss').toString('base64')}`,
    });
    expect(request?.body).toEqual({
      environment: 'test',
      event: 'run.completed',
      run_id: id,
      status: 'completed',
      name: 'orders',
      labels: { team: 'data' },
      submitted_at: '2026-08-01T12:00:00.000Z',
      started_at: '2026-08-01T12:00:00.000Z',
      finished_at: '2026-08-01T12:00:01.500Z',
      elapsed_secs: 1.5,
      records_written: 5,
      error: null,
      attempt: 0,
    });
  });

  it('tell of failures too', async () => {
    const { receiver: to, url } = await receiver();
    await runWith(
      { url },
      outcomeOf({ status: 'failed', error: { code: 'x', kind: 'Sink', message: 'no' } }),
    );
    expect(to.requests[0]?.body).toMatchObject({
      event: 'run.failed',
      status: 'failed',
      error: 'no',
    });
  });

  it('tell of a run cancelled while it waited', async () => {
    const { receiver: to, url } = await receiver();
    const service = await testService({ fetch });
    await service.submit();
    const waiting = await service.submit({ callback: callback({ url }) });
    await service.runs.cancel(waiting, CALLER);
    await to.received(1);
    expect(to.requests[0]?.body).toMatchObject({
      event: 'run.cancelled',
      run_id: waiting,
      started_at: null,
    });
  });

  it.each([
    [[], {}, { state: 'delivered', attempts: 1 }],
    [[503, 200], {}, { state: 'delivered', attempts: 2 }],
    [[404], {}, { state: 'dropped', attempts: 1, reason: 'the receiver answered 404' }],
    [[500, 500, 500], {}, { state: 'dropped', attempts: 3, reason: 'the receiver answered 500' }],
    [[], { on: ['failed'] }, { state: 'not_wanted', attempts: 0 }],
  ])('are told of when the run is read: %j %j', async (statuses, over, told) => {
    const { url } = await receiver(...statuses);
    const { service, id } = await runWith({ url, ...over });
    const { callback_delivery: delivery } = await service.runs.get(id);
    expect(delivery).toEqual({ ...told, at: expect.any(String) });
  });

  it('keep to the statuses asked for; an empty list means all', async () => {
    const { receiver: to, url } = await receiver();
    await runWith({ url, on: ['failed'] });
    expect(to.requests).toEqual([]);
    await runWith({ url, on: [] });
    expect(to.requests).toHaveLength(1);
  });

  it.each([
    ['answers 500 twice', [500, 503, 200], 3],
    ['is overloaded', [429, 408, 500, 200], 3],
    ['does not want it', [404], 1],
    ['redirects', [302], 1],
  ])(
    'try again only where that can help: a receiver that %s',
    async (_what, statuses, attempts) => {
      const { receiver: to, url } = await receiver(...statuses);
      const { service, id } = await runWith({ url });
      expect(to.requests).toHaveLength(attempts);
      expect((await service.record(id)).status).toBe('completed');
    },
  );

  it('are dropped with a warning that holds no credentials when nobody answers', async () => {
    const { service } = await runWith({ url: 'http://user:hunter22@127.0.0.1:1/' });
    const dropped = service.env.lines.filter(({ line }) => line.includes('callback was dropped'));
    expect(dropped).toHaveLength(1);
    expect(dropped[0]?.line).not.toContain('hunter22');
  });

  it('do not hold up the record or the next run', async () => {
    const service = await testService({ fetch: () => new Promise(() => {}) });
    const id = await service.submit({ callback: callback() });
    await service.submit();
    await rest();
    service.executor.last.finish();
    await rest();
    expect((await service.record(id)).status).toBe('completed');
    expect(service.executor.started).toHaveLength(2);
  });

  it('are checked before anything is stored, and shown masked', async () => {
    const service = await testService();
    expect(
      await refusalOf(
        service.runs.submit(
          submission({ callback: callback({ url: 'http://169.254.169.254/' }) }),
          CALLER,
        ),
      ),
    ).toMatchObject({
      code: 'unprocessable',
    });
    expect((await service.runs.list({ limit: 1 })).runs).toEqual([]);
    const id = await service.submit({
      callback: callback({ headers: { authorization: 'Bearer hunter22' } }),
    });
    expect(await service.record(id)).toMatchObject({
      callback: { headers: { authorization: '***' } },
    });
  });

  it('are not sent for a run that was recovered as an orphan', async () => {
    let calls = 0;
    const service = await testService({
      fetch: () => {
        calls += 1;
        return Promise.resolve(new Response());
      },
    });
    await service.submit({ callback: callback() });
    await rest();
    await service.history.failExpired('2027-01-01T00:00:00.000Z', 'lease expired');
    service.executor.last.finish();
    await rest();
    expect(calls).toBe(0);
  });
});
