/** Moves between files. */
import { rm } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PERSON_FIELDS, peopleFile, personAt, WIDE_FIELDS, wideAt, wideFile } from '../data.ts';
import { expectedDigest, type Digest } from '../digest.ts';
import {
  ask,
  headgateRun,
  program,
  type Bench,
  type Contest,
  type Move,
  type Side,
} from '../move.ts';
import { GOVERNED_FIELDS, governedDocument, governedValues } from './governed.ts';

/** A wide row is about eight times as long. */
const WIDE_SHARE = 0.1;
const LINES_CHECK = 'record count and hash of every value against the generator';

const csvToJsonl: Move = {
  kind: 'processes',
  name: 'csv-jsonl',
  title: 'CSV → JSON Lines, 7 columns, one worker',
  async contest(bench) {
    const input = peopleFile(bench.folder, bench.rows);
    const expected = expectedDigest(bench.rows, (index) => personTexts(index));
    return linesContest(bench, {
      name: 'csv-jsonl',
      input,
      rows: bench.rows,
      fields: PERSON_FIELDS,
      expected,
      target: 2,
    });
  },
};

const wideCsvToJsonl: Move = {
  kind: 'processes',
  name: 'wide-csv-jsonl',
  title: 'CSV → JSON Lines, 60 columns (a tenth of the rows), one worker',
  async contest(bench) {
    const rows = Math.max(1, Math.round(bench.rows * WIDE_SHARE));
    const input = wideFile(bench.folder, rows);
    return linesContest(bench, {
      name: 'wide-csv-jsonl',
      input,
      rows,
      fields: WIDE_FIELDS,
      expected: expectedDigest(rows, wideAt),
    });
  },
};

const governed: Move = {
  kind: 'processes',
  name: 'csv-jsonl-governed',
  title:
    'CSV → JSON Lines with rename, cast, filter, hash mask, contract of 6 fields and dead letters',
  async contest(bench) {
    const input = peopleFile(bench.folder, bench.rows);
    const output = join(bench.folder, 'csv-jsonl-governed.jsonl');
    const plain = join(bench.folder, 'csv-jsonl-governed-loop.jsonl');
    const expected = expectedDigest(bench.rows, (index) => governedValues(personAt(index)));
    const texts = expectedDigest(bench.rows, personTexts);
    return {
      rows: bench.rows,
      subject: linesSide(
        'headgate',
        output,
        GOVERNED_FIELDS,
        expected,
        headgateRun(bench.folder, 'governed', governedDocument(input, output)),
      ),
      others: [
        {
          ...recordLoop(input, plain, PERSON_FIELDS, texts),
          name: 'record loop (udsv) doing nothing',
          role: 'baseline',
          target: 1,
        },
      ],
    };
  },
};

/** Long enough for the time that threads take to start not to matter. */
const LONG = 5;

const governedThreads: Move = {
  kind: 'processes',
  name: 'csv-jsonl-governed-threads',
  title: `CSV → JSON Lines as above, ${LONG} times as many rows, a thread beside the one that reads and writes`,
  async contest(bench) {
    const rows = bench.rows * LONG;
    const input = peopleFile(bench.folder, rows);
    const expected = expectedDigest(rows, (index) => governedValues(personAt(index)));
    const side = (name: string, threads: number): Side => {
      const document = `governed-${threads}-threads`;
      const output = join(bench.folder, `${document}.jsonl`);
      const command = headgateRun(
        bench.folder,
        document,
        governedDocument(input, output),
        '--threads',
        String(threads),
      );
      return linesSide(name, output, GOVERNED_FIELDS, expected, command);
    };
    return {
      rows,
      subject: side('headgate', 1),
      others: [{ ...side('headgate with one worker', 0), role: 'baseline', target: 1.5 }],
    };
  },
};

const csvToParquet: Move = {
  kind: 'processes',
  name: 'csv-parquet',
  title: 'CSV → Parquet, 7 text columns, Snappy',
  async contest(bench) {
    const input = peopleFile(bench.folder, bench.rows);
    const output = join(bench.folder, 'csv-parquet.parquet');
    const other = join(bench.folder, 'csv-parquet-engine.parquet');
    const sink = `{ type: parquet, config: { destination: { type: local_path, path: ${output} } } }`;
    const side = (name: string, path: string, command: Side['command']): Side => ({
      name,
      command,
      prepare: () => rm(path, { force: true }),
      verify: () => verifyParquet(path, input),
      verified:
        'record count and hash of every value against the CSV file, by the analytical engine',
    });
    return {
      rows: bench.rows,
      subject: side(
        'headgate',
        output,
        headgateRun(bench.folder, 'csv-parquet', fileDocument('csv-parquet', input, sink)),
      ),
      others: [
        {
          ...side(
            'analytical engine COPY, one thread',
            other,
            program('duckdb-copy', input, other),
          ),
          role: 'baseline',
          target: 0.8,
        },
      ],
    };
  },
};

export const fileMoves: readonly Move[] = [
  csvToJsonl,
  governed,
  governedThreads,
  wideCsvToJsonl,
  csvToParquet,
];

interface LinesContest {
  readonly name: string;
  readonly input: string;
  readonly rows: number;
  readonly fields: readonly string[];
  readonly expected: Digest;
  readonly target?: number;
}

function linesContest(
  bench: Bench,
  { name, input, rows, fields, expected, target }: LinesContest,
): Contest {
  const output = (side: string): string => join(bench.folder, `${name}-${side}.jsonl`);
  const document = fileDocument(
    name,
    input,
    `{ type: jsonl, config: { path: ${output('headgate')} } }`,
  );
  const engine = linesSide(
    'analytical engine COPY, one thread',
    output('engine'),
    fields,
    expected,
    program('duckdb-copy', input, output('engine')),
  );
  return {
    rows,
    subject: linesSide(
      'headgate',
      output('headgate'),
      fields,
      expected,
      headgateRun(bench.folder, name, document),
    ),
    others: [
      { ...engine, role: 'baseline', ...(target === undefined ? {} : { target }) },
      { ...recordLoop(input, output('loop'), fields, expected), role: 'baseline' },
      { ...copySide(input, output('copy')), role: 'floor' },
    ],
  };
}

function recordLoop(
  input: string,
  output: string,
  fields: readonly string[],
  expected: Digest,
): Side {
  return linesSide(
    'record loop (udsv)',
    output,
    fields,
    expected,
    program('udsv-loop', input, output),
  );
}

export function linesSide(
  name: string,
  output: string,
  fields: readonly string[],
  expected: Digest,
  command: Side['command'],
): Side {
  const known = new Set<string>();
  return {
    name,
    command,
    prepare: () => rm(output, { force: true }),
    async verify() {
      // Bytes that were found right once need not be parsed again.
      const bytes = await hashFile(output);
      if (known.has(bytes)) return;
      await verifyLines(output, fields, expected);
      known.add(bytes);
    },
    verified: LINES_CHECK,
  };
}

function copySide(input: string, output: string): Side {
  return {
    name: 'cp of the input',
    command: { argv: ['cp', input, output] },
    prepare: () => rm(output, { force: true }),
    async verify() {
      if ((await hashFile(input)) !== (await hashFile(output)))
        throw new Error(`${output} is not a copy of ${input}`);
    },
    verified: 'hash of the bytes',
  };
}

// oxlint-disable-next-line max-params
export async function verifyLines(
  path: string,
  fields: readonly string[],
  expected: Digest,
  ...member: readonly string[]
): Promise<void> {
  const digest = program('digest-lines', path, fields.join(','), ...member);
  const found = (await ask(digest)) as Digest;
  if (found.records !== expected.records || found.sum !== expected.sum)
    throw new Error(
      `${path} holds ${found.records} records with digest ${found.sum}, not ${expected.records} with ${expected.sum}`,
    );
}

async function verifyParquet(path: string, csv: string): Promise<void> {
  const [found, expected] = (await ask(program('digest-parquet', path, csv))) as [string, string];
  if (found !== expected) throw new Error(`${path} holds ${found}, not ${expected}`);
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('md5');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/** A CSV value is a text unless a document asks otherwise. */
export function personTexts(index: number): readonly string[] {
  const { id, name, email, amount, ts, active, payload } = personAt(index);
  return [String(id), name, email, String(amount), ts, String(active), payload];
}

export function fileDocument(name: string, input: string, sink: string): string {
  return `version: 1
name: ${name}
pipeline:
  source: { type: csv, config: { path: ${input} } }
  sink: ${sink}
`;
}
