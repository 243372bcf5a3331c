/**
 * `node http-load.ts URL SECONDS CONNECTIONS [BODY_FILE [EVERY_MS]]`: keeps that many connections
 * busy, each with one request at a time, and prints what came back. With a body it is a POST of
 * JSON, with the number of the request where the body holds `########`. EVERY_MS paces each
 * connection instead of asking at once again.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from '../statistics.ts';
import { placesOfSerial, withSerial } from './serial.ts';

const [address = '', seconds = '1', connections = '1', bodyFile = '', everyMs = '0'] =
  process.argv.slice(2);
const url = new URL(address);
const request = requestBytes(bodyFile === '' ? undefined : readFileSync(bodyFile));
const places = placesOfSerial(request);
let serial = 0;
const latencies: number[] = [];
const statuses: Record<string, number> = {};

const begun = performance.now();
const deadline = begun + Number(seconds) * 1000;
await Promise.all(Array.from({ length: Number(connections) }, keepBusy));
const elapsed = (performance.now() - begun) / 1000;
latencies.sort((a, b) => a - b);
console.log(
  JSON.stringify({
    perSecond: latencies.length / elapsed,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    maxMs: latencies.at(-1),
    statuses,
  }),
);

async function keepBusy(): Promise<void> {
  const socket = connect(Number(url.port), url.hostname).setNoDelay();
  const answers = answersOf(socket);
  while (performance.now() < deadline) {
    const sent = performance.now();
    // A copy: the socket may still hold the last one.
    socket.write(
      places.length === 0 ? request : withSerial(Buffer.from(request), places, serial++),
    );
    const { value } = await answers.next();
    if (value === undefined) throw new Error('the server closed the connection');
    latencies.push(performance.now() - sent);
    statuses[value] = (statuses[value] ?? 0) + 1;
    if (Number(everyMs) > 0) await pause(Number(everyMs));
  }
  socket.destroy();
}

/** The status of one answer after the other; every answer of the servers here has a length. */
async function* answersOf(socket: Socket): AsyncGenerator<string, undefined> {
  let text = '';
  for await (const chunk of socket.setEncoding('latin1') as AsyncIterable<string>) {
    text += chunk;
    const head = text.indexOf('\r\n\r\n');
    const length = head < 0 ? undefined : /content-length: (\d+)/i.exec(text.slice(0, head))?.[1];
    if (length === undefined || text.length < head + 4 + Number(length)) continue;
    const status = text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    text = '';
    yield status;
  }
  return undefined;
}

function requestBytes(body: Buffer | undefined): Buffer {
  const head = [
    `${body === undefined ? 'GET' : 'POST'} ${url.pathname} HTTP/1.1`,
    `Host: ${url.host}`,
  ];
  if (body !== undefined)
    head.push('Content-Type: application/json', `Content-Length: ${body.length}`);
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body ?? Buffer.alloc(0)]);
}
