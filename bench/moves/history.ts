/** Moves of a history in PostgreSQL: against the one in SQLite, and with many runs in it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Move } from '../move.ts';
import type { Figure } from '../result.ts';
import { SERIAL } from '../programs/serial.ts';
import { startHeadgate, type Load } from '../service.ts';
import { quantile } from '../statistics.ts';
import { freshDatabase } from './fresh-database.ts';
import { loadsInTurn, runMany, sleepingDocument, submittedDocument } from './service.ts';

/** Repetitions of each request on a full history. */
const ASKED = 200;
const LINES_A_RUN = 10;
const LONG_LOG_LINES = 100_000;
const CENTURY_SECS = '3153600000';

const submissions: Move = {
  kind: 'service',
  name: 'serve-submit-postgres',
  title: 'POST /v1/runs, 32 connections, history in PostgreSQL against SQLite',
  how:
    'As `serve-submit-different`; servers with the one history and the other in alternation, each while it has just started and again after that. ' +
    'PostgreSQL runs on the same machine, with the durability of a real server, and takes its share of the processors.',
  async measure(bench) {
    const sleeping = await sleepingDocument(bench);
    // No document comes twice.
    const bodyFiles = ['first', 'second'].map((name) => join(bench.folder, `${name}.json`));
    for (const [load, file] of bodyFiles.entries())
      await writeFile(file, JSON.stringify({ config: submittedDocument(`${load}${SERIAL}`) }));
    const rounds = { postgres: [] as Load[][], sqlite: [] as Load[][] };
    await loadsInTurn(bench, { sleeping }, bodyFiles.slice(0, 1));
    for (let round = 0; round < bench.runs; round++) {
      bench.say(`  round ${round + 1} of ${bench.runs}`);
      const options = ['--history', await freshDatabase(bench)];
      rounds.postgres.push([...(await loadsInTurn(bench, { sleeping, options }, bodyFiles))]);
      rounds.sqlite.push([...(await loadsInTurn(bench, { sleeping }, bodyFiles))]);
    }
    return ['just started', 'warm'].flatMap((when, load) => {
      const [postgres, sqlite] = [rounds.postgres, rounds.sqlite].map((all) =>
        all.flatMap((loads) => loads[load] ?? []),
      ) as [Load[], Load[]];
      return [
        ...figuresOf(
          postgres.map(({ perSecond }) => perSecond),
          sqlite.map(({ perSecond }) => perSecond),
          `submissions, ${when}`,
        ),
        {
          name: `PostgreSQL, p99, ${when}`,
          unit: 'ms',
          samples: postgres.map(({ p99Ms }) => p99Ms),
          target: { bound: 'at most', value: 40 },
        },
      ];
    });
  },
};

const runs: Move = {
  kind: 'service',
  name: 'serve-runs-postgres',
  title: '10,000 runs of a 10-row document, history in PostgreSQL against SQLite',
  how: 'As `serve-runs`; servers with the one history and the other in alternation.',
  async measure(bench) {
    const [postgres, sqlite]: [number[], number[]] = [[], []];
    for (let round = 0; round < bench.runs; round++) {
      bench.say(`  round ${round + 1} of ${bench.runs}`);
      postgres.push(await runMany(bench, ['--history', await freshDatabase(bench)]));
      sqlite.push(await runMany(bench));
    }
    return figuresOf(postgres, sqlite, 'runs');
  },
};

function figuresOf(
  postgres: readonly number[],
  sqlite: readonly number[],
  what: string,
): readonly Figure[] {
  return [
    { name: `PostgreSQL, ${what}`, unit: 'per second', samples: postgres },
    { name: `SQLite, ${what}`, unit: 'per second', samples: sqlite },
    {
      name: `PostgreSQL / SQLite, ${what}`,
      unit: '×',
      samples: postgres.map((one, index) => one / (sqlite[index] ?? Number.NaN)),
      target: { bound: 'at least', value: 0.6 },
    },
  ];
}

const lists: Move = {
  kind: 'service',
  name: 'history-lists',
  title: 'Lists and logs of a history in PostgreSQL of as many runs as --rows, ten log lines each',
  how:
    `One request at a time over HTTP, ${ASKED} of each kind with changing pages. Two of a hundred runs failed, five of a hundred thousand were ` +
    'cancelled; a hundred names share the runs, and one of them has ten runs. One run has a log of 100,000 lines.',
  async measure(bench) {
    const url = await freshDatabase(bench);
    const options = ['--history', url];
    const kept = [
      '--retain-terminal-runs-secs',
      CENTURY_SECS,
      '--log-retention-secs',
      CENTURY_SECS,
    ];
    await (await startHeadgate(bench.folder, ...options)).stop();
    bench.say('  filling the history');
    await fill(url, bench.rows);
    const server = await startHeadgate(bench.folder, ...options, ...kept);
    try {
      const figures: Figure[] = [];
      for (const [name, path] of requests(bench.rows)) {
        bench.say(`  ${name}`);
        figures.push(await asked(name, (n) => `${server.url}/v1/runs${path(n)}`));
      }
      return figures;
    } finally {
      await server.stop();
    }
  },
};

type Path = (n: number) => string;

function requests(rows: number): readonly (readonly [string, Path])[] {
  const somewhere: Path = (n) => `cursor=${idAt(Math.floor((rows * (n + 1)) / (ASKED + 2)) + 1)}`;
  const moment = (n: number) => encodeURIComponent(momentAt(Math.floor((rows * n) / ASKED) + 1));
  return [
    ['first page', () => ''],
    ['page anywhere', (n) => `?${somewhere(n)}`],
    ['failed', (n) => `?status=failed&${somewhere(n)}`],
    ['failed or cancelled', (n) => `?status=failed,cancelled&${somewhere(n)}`],
    ['cancelled', () => '?status=cancelled'],
    ['queued or running', () => '?status=queued,running'],
    ['completed', (n) => `?status=completed&${somewhere(n)}`],
    ['a name', (n) => `?name=orders-${n % 100}&${somewhere(n)}`],
    ['a rare name', () => '?name=rare'],
    ['a name, failed', (n) => `?name=orders-${n % 100}&status=failed`],
    ['since a time', (n) => `?since=${moment(n)}`],
    ['until a time', (n) => `?until=${moment(n)}`],
    ['a run', (n) => `/${idAt(Math.floor((rows * n) / ASKED) + 1)}`],
    ['its log', (n) => `/${idAt(Math.floor((rows * n) / ASKED) + 1)}/logs?format=jsonl`],
    ['a long log', (n) => `/${idAt(1)}/logs?format=jsonl&after=${n * 400}`],
  ];
}

async function asked(name: string, urlAt: (n: number) => string): Promise<Figure> {
  const samples: number[] = [];
  for (let n = 0; n < ASKED; n++) {
    const begun = performance.now();
    const answer = await fetch(urlAt(n));
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${urlAt(n)} was answered with ${text}`);
    samples.push(performance.now() - begun);
  }
  samples.sort((a, b) => a - b);
  return {
    name: `${name}, p99`,
    unit: 'ms',
    samples: [quantile(samples, 0.99)],
    target: { bound: 'at most', value: 50 },
  };
}

const START = Date.UTC(2026, 0, 1);
const idAt = (n: number): string => `019876b5-4a00-7000-8000-${n.toString(16).padStart(12, '0')}`;
const momentAt = (n: number): string => new Date(START + n * 1000).toISOString();

/** By the server itself: it takes seconds for a million runs. */
async function fill(url: string, rows: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const id = `'019876b5-4a00-7000-8000-' || lpad(to_hex(n), 12, '0')`;
  const moment = `to_char(timestamp '2026-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const status = `CASE WHEN n % 50 = 0 THEN 'failed' WHEN n % 20000 = 7 THEN 'cancelled' ELSE 'completed' END`;
  await client.query(`INSERT INTO svc_serve_runs (run_id, name, labels, status, submitted_at, started_at, finished_at, records_written,
      invocations, error, idempotency_key, doctor_report, callback, attempt, owner, lease_until, cancel_requested)
    SELECT ${id}, CASE WHEN n % (${rows} / 10) = 3 THEN 'rare' ELSE 'orders-' || n % 100 END, '{"team":"data"}', ${status},
      ${moment}, ${moment}, ${moment}, n % 1000, '[]', NULL, NULL, NULL, NULL, 0, 'gone', ${moment}, 0
    FROM generate_series(1, ${rows}) AS n`);
  const line = `'pipeline run ' || n || ' wrote a line of an ordinary length, as most lines of a log are'`;
  const insert = 'INSERT INTO svc_serve_run_logs (run_id, seq, ts, level, line, is_truncated)';
  await client.query(`${insert} SELECT ${id}, seq, ${moment}, 'INFO', ${line}, 0
    FROM generate_series(2, ${rows}) AS n, generate_series(0, ${LINES_A_RUN - 1}) AS seq`);
  await client.query(`${insert} SELECT '${idAt(1)}', n, ${moment}, 'INFO', ${line}, 0
    FROM generate_series(0, ${LONG_LOG_LINES - 1}) AS n`);
  await client.query('VACUUM (ANALYZE) svc_serve_runs, svc_serve_run_logs');
  await client.end();
}

export const historyMoves: readonly Move[] = [submissions, runs, lists];
