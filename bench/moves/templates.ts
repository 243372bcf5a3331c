/** Templates: how fast they are run beside plain submissions, and how fast many are listed. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Bench, Move } from '../move.ts';
import { SERIAL } from '../programs/serial.ts';
import type { Figure } from '../result.ts';
import { startHeadgate, type Load } from '../service.ts';
import { oneHeadgate, sleepingDocument, submittedDocument } from './service.ts';

/** What a template adds to a submission may cost so much. */
const LEAST_SHARE = 0.8;
const TEMPLATES = 10_000;
const VERSIONS = 20;
const ASKED = 400;
const PAGE = 100;
const MOST_MS = 50;

interface RunMove {
  readonly name: string;
  readonly title: string;
  readonly what: string;
  readonly isDifferent: boolean;
}

function runMove({ name, title, what, isDifferent }: RunMove): Move {
  return {
    kind: 'service',
    name,
    title,
    how:
      `${what} Whole servers in alternation, one asked for runs of a template, one given the same documents by \`POST /v1/runs\`, each under load from another process. ` +
      'The only worker waits in a query that sleeps, so that runs are stored and queued; every request was answered with 202.',
    measure: (bench) => measureRuns(bench, isDifferent),
  };
}

const same = runMove({
  name: 'serve-template',
  title: 'POST /v1/templates/{id}/runs, 32 connections, 1.4 kB YAML document, durable',
  what: 'Every run has the same document, without parameters.',
  isDifferent: false,
});

const different = runMove({
  name: 'serve-template-different',
  title: 'POST /v1/templates/{id}/runs, 32 connections, as above, no two values the same',
  what: 'Each run has a parameter of its own; the plain documents differ in the same place.',
  isDifferent: true,
});

async function measureRuns(bench: Bench, isDifferent: boolean): Promise<readonly Figure[]> {
  const sleeping = await sleepingDocument(bench);
  const runs = { sleeping, bodyFile: join(bench.folder, 'submission.json') };
  const plain = submittedDocument(isDifferent ? SERIAL : SERIAL.replaceAll('#', '0'));
  await writeFile(runs.bodyFile, JSON.stringify({ config: plain }));
  const config = isDifferent
    ? submittedDocument('${param.serial}').replace(
        'name: ',
        'params: { serial: { required: true } }\nname: ',
      )
    : plain;
  const templates = {
    sleeping,
    bodyFile: join(bench.folder, 'run.json'),
    path: '/v1/templates/bench/runs',
    prepare: (url: string) => register(url, config),
  };
  await writeFile(
    templates.bodyFile,
    JSON.stringify(isDifferent ? { params: { serial: SERIAL } } : {}),
  );
  const rounds = { template: [] as Load[], submitted: [] as Load[] };
  await oneHeadgate(bench, templates);
  for (let round = 0; round < bench.runs; round++) {
    bench.say(`  round ${round + 1} of ${bench.runs}`);
    rounds.template.push(await oneHeadgate(bench, templates));
    rounds.submitted.push(await oneHeadgate(bench, runs));
  }
  const share = rounds.template.map(
    ({ perSecond }, index) => perSecond / (rounds.submitted[index]?.perSecond ?? Number.NaN),
  );
  const rateOf = (loads: readonly Load[]): number[] => loads.map(({ perSecond }) => perSecond);
  return [
    { name: 'template, runs', unit: 'per second', samples: rateOf(rounds.template) },
    { name: 'template, p99', unit: 'ms', samples: rounds.template.map(({ p99Ms }) => p99Ms) },
    { name: 'POST /v1/runs, runs', unit: 'per second', samples: rateOf(rounds.submitted) },
    {
      name: 'template / POST /v1/runs',
      unit: '×',
      samples: share,
      target: { bound: 'at least', value: LEAST_SHARE },
    },
  ];
}

async function register(url: string, config: string, id = 'bench'): Promise<void> {
  const answer = await fetch(`${url}/v1/templates`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, config, launch: true }),
  });
  if (answer.status !== 201) throw new Error(`the template was refused: ${await answer.text()}`);
}

const listing: Move = {
  kind: 'service',
  name: 'serve-template-list',
  title: 'Templates listed among 10,000 of 20 versions each',
  how: `Pages of ${PAGE} at places all over the list, one request after the other, and single templates; then the whole list.`,
  async measure(bench) {
    const server = await startHeadgate(bench.folder);
    try {
      await fill(server);
      const pages: number[] = [];
      const singles: number[] = [];
      for (let n = 0; n < ASKED; n += 1) {
        const id = idAt(Math.floor((n * TEMPLATES) / ASKED));
        pages.push(await timed(`${server.url}/v1/templates?limit=${PAGE}&cursor=${id}`));
        singles.push(await timed(`${server.url}/v1/templates/${id}`));
      }
      const whole = await timed(`${server.url}/v1/templates`);
      return [
        {
          name: `page of ${PAGE}, p99`,
          unit: 'ms',
          samples: [p99(pages)],
          target: { bound: 'at most', value: MOST_MS },
        },
        { name: 'one template, p99', unit: 'ms', samples: [p99(singles)] },
        { name: 'whole list', unit: 'ms', samples: [whole] },
      ] satisfies Figure[];
    } finally {
      await server.stop();
    }
  },
};

const idAt = (index: number): string => `t-${String(index).padStart(5, '0')}`;

/** One template is registered version by version, and its rows are copied under other ids. */
async function fill({ url, dataFolder }: { url: string; dataFolder: string }): Promise<void> {
  const first = idAt(0);
  for (let version = 1; version <= VERSIONS; version += 1)
    await register(url, submittedDocument(String(version)), first);
  const db = new DatabaseSync(join(dataFolder, 'history.db'), { timeout: 10_000 });
  const columnsOf = (table: string): string[] =>
    db
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map((row) => String(row['name']));
  const [of, versionsOf] = [
    columnsOf('svc_serve_templates'),
    columnsOf('svc_serve_template_versions'),
  ];
  const chosen = (columns: readonly string[]): string =>
    columns
      .map((column) =>
        column === 'id' ? '?2' : column === 'state' ? 'replace(state, ?1, ?2)' : column,
      )
      .join(', ');
  const templates = db.prepare(
    `INSERT INTO svc_serve_templates (${of.join(', ')}) SELECT ${chosen(of)} FROM svc_serve_templates WHERE id = ?1`,
  );
  const versions = db.prepare(
    `INSERT INTO svc_serve_template_versions (${versionsOf.join(', ')}) SELECT ${chosen(versionsOf)} FROM svc_serve_template_versions WHERE id = ?1`,
  );
  db.exec('BEGIN');
  for (let index = 1; index < TEMPLATES; index += 1) {
    templates.run(first, idAt(index));
    versions.run(first, idAt(index));
  }
  db.exec('COMMIT');
  db.close();
}

async function timed(url: string): Promise<number> {
  const begun = performance.now();
  const answer = await fetch(url);
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${url} was answered with ${answer.status}`);
  return performance.now() - begun;
}

function p99(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
}

export const templateMoves: readonly Move[] = [same, different, listing];
