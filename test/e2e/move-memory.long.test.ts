/**
 * Memory of whole processes: what a run holds at its peak depends on the size of a record and of a
 * page, never on how many there are.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder, type Folder } from './folder.ts';

const MEBIBYTE = 1024 * 1024;
const LONG_TEST = 120_000;
/** The kernel's high-water mark of the process, put down when it ends. */
const PEAK_FILE = 'peak';
const PUT_DOWN_PEAK = `
  import { readFileSync, writeFileSync } from 'node:fs';
  process.on('exit', () => writeFileSync(${JSON.stringify(PEAK_FILE)}, /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]));
`;
const VARIABLES = {
  NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(PUT_DOWN_PEAK)}"`,
};

let folder: Folder;
/** MiB that a run takes which moves nothing to speak of. */
let idleMiB: number;

beforeAll(async () => {
  folder = makeFolder('memory');
  folder.write('small.csv', 'a,b\n1,2\n');
  idleMiB = 0;
  idleMiB = await extraMiB('records', {
    source: { type: 'csv', config: { path: 'small.csv' } },
    ...RECORDS,
    sink: LINES,
  });
}, LONG_TEST);
afterAll(() => folder.remove());

const LINES = { type: 'jsonl', config: { path: 'out.jsonl' } };
const COLUMNS = { transforms: [{ type: 'rename_field', config: { fields: { b: 'renamed' } } }] };
const RECORDS = { transforms: [{ type: 'flatten', config: {} }] };
const LANES: readonly { readonly lane: string; readonly more: object }[] = [
  { lane: 'bytes', more: {} },
  { lane: 'columns', more: COLUMNS },
  { lane: 'records', more: RECORDS },
];

/**
 * Runs a pipeline to its end, in the lane it is said to take; MiB at its peak beyond those of the
 * run that moves nothing.
 */
async function extraMiB(lane: string, pipeline: object): Promise<number> {
  folder.document('run.yaml', pipeline);
  const { code, stderr } = await folder.run(['run', 'run.yaml'], VARIABLES);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining(`lane=${lane}`) as string,
  });
  return Number(folder.text(PEAK_FILE)) / 1024 - idleMiB;
}

/** Writes `before`, a piece many times over, and `after`. */
function writeRepeated(
  name: string,
  [before, piece, after]: readonly [string, string, string],
  times: number,
): void {
  const block = piece.repeat(Math.ceil(MEBIBYTE / piece.length));
  const count = Math.ceil((piece.length * times) / block.length);
  const file = openSync(join(folder.path, name), 'w');
  writeSync(file, before);
  for (let written = 0; written < count; written += 1) writeSync(file, block);
  writeSync(file, after);
  closeSync(file);
}

describe.skipIf(!existsSync('/proc/self/status'))('memory', () => {
  describe('a field of 50 MB', () => {
    beforeAll(() => {
      writeRepeated('huge.csv', ['a,b\n1,2\n"', 'a, ""b""\n', '",3\n4,5\n'], 50e6 / 9);
      writeRepeated(
        'huge.jsonl',
        ['{"a":"1","b":"2"}\n{"a":"', 'a \\"b\\" cde', '","b":"3"}\n{"a":"4","b":"5"}\n'],
        50e6 / 11,
      );
    });

    it.each(['csv', 'jsonl'].flatMap((type) => LANES.map((lane) => ({ type, ...lane }))))(
      'is moved from $type as $lane with a few times its size',
      async ({ type, lane, more }) => {
        const extra = await extraMiB(lane, {
          source: { type, config: { path: `huge.${type}` } },
          ...more,
          sink: LINES,
        });
        expect(extra).toBeLessThan(600);
        expect(statSync(join(folder.path, 'out.jsonl')).size).toBeGreaterThan(50e6);
      },
      LONG_TEST,
    );
  });

  describe('rows of 5,000 columns', () => {
    beforeAll(() => {
      const names = Array.from({ length: 5000 }, (_, index) => (index === 1 ? 'b' : `c${index}`));
      writeRepeated(
        'wide.csv',
        [`${names.join(',')}\n`, `${names.map((_, index) => `v${index}`).join(',')}\n`, ''],
        600,
      );
      writeRepeated(
        'wide.jsonl',
        [
          '',
          `${JSON.stringify(Object.fromEntries(names.map((name, index) => [name, index])))}\n`,
          '',
        ],
        600,
      );
    });

    it.each(['csv', 'jsonl'].flatMap((type) => LANES.map((lane) => ({ type, ...lane }))))(
      'are moved from $type as $lane without holding more than some pages',
      async ({ type, lane, more }) => {
        const extra = await extraMiB(lane, {
          source: { type, config: { path: `wide.${type}` } },
          ...more,
          sink: LINES,
        });
        expect(extra).toBeLessThan(type === 'csv' && more !== RECORDS ? 250 : 500);
      },
      LONG_TEST,
    );
  });

  describe('many rows', () => {
    const ROW =
      'a name of some length,someone@example.com,2024-01-01T00:00:00Z,"{""plan"":""free""}"\n';
    beforeAll(() => {
      writeRepeated('fifth.csv', ['a,b,c,d\n', ROW, ''], 200_000);
      writeRepeated('whole.csv', ['a,b,c,d\n', ROW, ''], 1_000_000);
    });

    it.each(LANES)(
      'take no more memory as $lane when there are five times as many',
      async ({ lane, more }) => {
        const peakOf = (path: string): Promise<number> =>
          extraMiB(lane, { source: { type: 'csv', config: { path } }, ...more, sink: LINES });
        expect(await peakOf('whole.csv')).toBeLessThan((await peakOf('fifth.csv')) + 60);
      },
      LONG_TEST,
    );

    it(
      'wait in their file while nobody answers the sink',
      async () => {
        const { server, url, requests } = await slowServer();
        const sink = {
          type: 'http',
          config: { url, batch_mode: { type: 'Array' }, batch_size: 0 },
        };
        const extra = await extraMiB('records', {
          source: { type: 'csv', config: { path: 'whole.csv', batch_size: 2000 } },
          sink,
        });
        server.close();
        expect(requests()).toBeGreaterThan(400);
        expect(extra).toBeLessThan(320);
      },
      LONG_TEST,
    );

    it.each(LANES)(
      'wait in their file as $lane while nobody reads the pipe they are written to',
      async ({ lane, more }) => {
        const reader = lateReader(join(folder.path, `pipe-${lane}`));
        const source = { type: 'csv', config: { path: 'whole.csv' } };
        const extra = await extraMiB(lane, {
          source,
          ...more,
          sink: { type: 'jsonl', config: { path: reader.path } },
        }).finally(reader.leave);
        const lines = await reader.lines;
        expect(lines).toBe(
          readFileSync(join(folder.path, 'whole.csv'), 'latin1').split('\n').length - 2,
        );
        expect(extra).toBeLessThan(100);
      },
      LONG_TEST,
    );
  });
});

/** Leaves the first request without an answer for a while. */
async function slowServer() {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const isFirst = requests === 1;
    request.resume().on('end', () => setTimeout(() => response.end(), isFirst ? 2000 : 0));
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests: () => requests,
  };
}

/** A pipe that somebody has opened and does not read for a while; then counts its lines. */
function lateReader(path: string) {
  execFileSync('mkfifo', [path]);
  const reader = spawn('sh', ['-c', 'exec 3<"$0"; sleep 2; exec wc -l <&3', path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  reader.stdout.setEncoding('utf8').on('data', (more: string) => (text += more));
  const lines = new Promise<number>((resolve) => reader.on('close', () => resolve(Number(text))));
  // When nobody has written, it waits for that for ever.
  const leave = (): void => closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
  return { path, lines, leave };
}
