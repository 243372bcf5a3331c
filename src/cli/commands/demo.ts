/**
 * `npm start`: the control plane, a bundled pipeline submitted to it over its own API, and what
 * came of it.
 */
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { packageFolder } from '../../lib/files/program-file.ts';
import type { Env } from '../../lib/env.ts';
import { AppError } from '../../lib/errors.ts';
import { lazyLibrary } from '../../lib/lazy.ts';
import { createLog, type LogLine } from '../../lib/log.ts';
import { isTerminal } from '../../wire/run-status.ts';
import type { RunRecord } from '../../wire/run.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { apiClient, type ApiClient } from './demo-client.ts';
import { EXIT, signalExit } from '../framework/exit.ts';
import { switchOption, textOption } from '../framework/option.ts';
import { seconds, thousands } from '../../lib/text/count.ts';
import { byteSize, table } from '../render/render.ts';
import { listenForStop, untilAborted } from '../framework/signals.ts';
import { readServeOptions, serveValues } from './serve.ts';
import { makeFolderSync } from '../../lib/files/make-folder.ts';

const PACKAGE = packageFolder();
const DOCUMENT = path.join(PACKAGE, 'examples/nyc-flights.yaml');
const POLL_MS = 100;
const yaml = lazyLibrary<typeof import('yaml')>('yaml');

export const demoCommand = defineCommand({
  name: 'demo',
  summary: 'Start the control plane and watch a bundled pipeline run through it.',
  description:
    'Starts the control plane, submits `examples/nyc-flights.yaml` (27,004 real flights: CSV, typed, masked and checked, into SQLite and JSON Lines, ' +
    'with what fails the checks kept aside) over its own HTTP API, shows it live, prints the run record and what to try next, and goes on serving.',
  options: {
    once: switchOption({ description: 'End when the run has ended, with its exit code.' }),
    listen: textOption({
      value: 'ADDRESS',
      default: '127.0.0.1:8080',
      description: 'Address and port to listen on; port 0 takes a free one.',
    }),
    dataDir: textOption({
      value: 'DIR',
      completes: 'directory',
      default: '.headgate',
      description: 'Folder of the history and the outputs.',
    }),
  },
  examples: [
    { command: 'npm start', description: 'From a checkout' },
    { command: 'npm start -- --once', description: 'Only the run' },
  ],
  async run(context, { options }) {
    const { world, terminal } = context;
    const given = new Map([
      ['listen', [options.listen]],
      ['noAuth', ['true']],
      ['dataDir', [options.dataDir]],
    ]);
    const serveOptions = readServeOptions(
      {
        world,
        env: quietEnv(context),
        isLevelChosen: true,
        allowedConnectors: context.allowedConnectors,
      },
      serveValues(given, world.variables),
    );
    using stops = listenForStop(world, 'shutdown', (signal) => terminal.note(`${signal}: closing`));
    const server = await context.wiring.serve(serveOptions).catch((error: unknown) => {
      throw portHint(error, options.listen);
    });
    terminal.note(
      `${terminal.paint('bold', 'Headgate')} serves on ${terminal.paint('cyan', server.url)}; history: ${server.historyText}\n`,
    );
    let exit: number = EXIT.ok;
    try {
      const out = path.join(serveOptions.dataDir, 'demo');
      const record = await watch(context, {
        server: server.url,
        out,
        stop: stops.signal,
        serving: !options.once,
      });
      if (record !== undefined) exit = record.status === 'completed' ? EXIT.ok : EXIT.failed;
      if (!options.once && !stops.signal.aborted) {
        terminal.note(`\nServing on ${terminal.paint('cyan', server.url)} until Ctrl-C.`);
        await Promise.race([untilAborted(stops.signal), server.closed]);
      }
    } finally {
      await server.drain(serveOptions.shutdownGraceSecs);
    }
    const signal = stops.received();
    return options.once && signal !== undefined ? signalExit(signal) : exit;
  },
});

/**
 * Runs log as usual, and their lines are shown as they come; of the server's own lines only the bad
 * news, not to stand between them.
 */
function quietEnv({ env, terminal, world: { clock } }: CliContext): Env {
  const write = (line: LogLine): void => {
    if (line.level === 'WARN' || line.level === 'ERROR') terminal.log(line);
  };
  return {
    ...env,
    log: createLog({
      level: env.log.level,
      target: 'headgate',
      clock,
      redactor: env.redactor,
      write,
    }),
  };
}

interface Watched {
  readonly server: string;
  /** Folder of the outputs. */
  readonly out: string;
  readonly stop: AbortSignal;
  /** Whether the server goes on after the run: what to try next depends on it. */
  readonly serving: boolean;
}

/** Submits the document, shows log and progress until the run has ended, and prints the result. */
async function watch(context: CliContext, watched: Watched): Promise<RunRecord | undefined> {
  const { terminal, world } = context;
  const config = bundledDocument(world.cwd, watched.out);
  const api = apiClient(watched.server, world.fetch);
  const { run_id: runId } = await api.submit(config, 'nyc-flights');
  terminal.note(`submitted ${shown(world.cwd, DOCUMENT)} as run ${terminal.paint('bold', runId)}`);
  const reading = showLog(context, api, runId, watched.stop);
  const record = await untilEnded(context, api, runId, watched.stop);
  await reading;
  terminal.clearProgress();
  if (record !== undefined) report(context, record, watched);
  return record;
}

/**
 * The example as it stands in the repository, with its two folders made absolute: the server may
 * have been started anywhere.
 */
function bundledDocument(cwd: string, out: string): string {
  if (!existsSync(DOCUMENT)) {
    throw new AppError('demo_missing', `${shown(cwd, DOCUMENT)} is not there`, {
      hint: 'the demo comes with a checkout of the repository',
    });
  }
  makeFolderSync(out);
  // Dead letters are kept for ever elsewhere; here a second run should show its own.
  for (const name of ['never-left.jsonl', 'never-left-lines.jsonl'])
    rmSync(path.join(out, name), { force: true });
  const document = yaml().parseDocument(readFileSync(DOCUMENT, 'utf8'));
  document.setIn(['vars', 'in'], path.join(PACKAGE, 'data'));
  document.setIn(['vars', 'out'], out);
  return document.toString();
}

async function showLog(
  { terminal }: CliContext,
  api: ApiClient,
  runId: string,
  stop: AbortSignal,
): Promise<void> {
  try {
    for await (const line of api.log(runId, stop))
      terminal.note(`  ${terminal.paint('dim', line)}`);
  } catch (error) {
    if (!stop.aborted) throw error;
  }
}

async function untilEnded(
  { terminal, world }: CliContext,
  api: ApiClient,
  runId: string,
  stop: AbortSignal,
): Promise<RunRecord | undefined> {
  while (!stop.aborted) {
    const record = await api.run(runId);
    if (isTerminal(record.status)) return record;
    const rate =
      record.elapsed_secs === null || record.elapsed_secs === 0
        ? 0
        : record.records_written / record.elapsed_secs;
    terminal.progress(
      `  ${record.status}  ${thousands(record.records_written)} records written  ${thousands(rate)}/s`,
    );
    await world.clock.sleep(POLL_MS, stop);
  }
  return undefined;
}

function report({ terminal, world }: CliContext, record: RunRecord, watched: Watched): void {
  const { out } = watched;
  const good = record.status === 'completed';
  const took = seconds((record.elapsed_secs ?? 0) * 1000);
  terminal.note(
    `\nThe run is ${terminal.paint(good ? 'green' : 'red', record.status)} after ${took}: ${thousands(record.records_written)} records written.`,
  );
  if (record.error !== null) terminal.note(terminal.paint('red', record.error));
  const rows = record.invocations.map(({ row_id: row, balance }) => [
    `  ${row}`,
    ...[balance.read, balance.filtered, balance.written, balance.dead_lettered].map(thousands),
  ]);
  for (const line of table(
    ['  row', 'read', 'filtered', 'written', 'dead letters'],
    rows,
    [1, 2, 3, 4],
  ))
    terminal.note(line);
  if (!good) return;
  terminal.note('\nOutputs');
  for (const [name, what] of OUTPUTS) {
    const file = path.join(out, name);
    const size = existsSync(file) ? byteSize(statSync(file).size) : 'missing';
    terminal.note(`  ${shown(world.cwd, file).padEnd(44)} ${size.padStart(9)}  ${what}`);
  }
  terminal.note('\nTry next');
  for (const command of nextCommands(world.cwd, watched, record.run_id))
    terminal.note(`  ${terminal.paint('cyan', command)}`);
}

const OUTPUTS: readonly (readonly [string, string])[] = [
  ['flights.db', 'table `flights`, matched by key: load it again and nothing is doubled'],
  ['flights.jsonl', 'the same records as JSON Lines'],
  ['never-left.jsonl', 'flights that never left, each with the check it failed'],
];

function nextCommands(cwd: string, { out, server, serving }: Watched, runId: string): string[] {
  const headgate = programName(cwd);
  const document = shown(cwd, DOCUMENT);
  return [
    `${headgate} explain ${document}`,
    `head -n 1 ${shown(cwd, path.join(out, 'never-left.jsonl'))}`,
    serving ? `curl -s ${server}/v1/runs/${runId}` : `${headgate} preview ${document} --limit 3`,
  ];
}

/** As whoever reads it would start it: a checkout, a package of this folder, or one on the PATH. */
function programName(cwd: string): string {
  const launcher = shown(cwd, path.join(PACKAGE, 'bin/headgate.js'));
  if (path.basename(path.dirname(PACKAGE)) !== 'node_modules') return `node ${launcher}`;
  return path.isAbsolute(launcher) ? 'headgate' : 'npx headgate';
}

function shown(cwd: string, file: string): string {
  const relative = path.relative(cwd, file);
  return relative.startsWith('..') ? file : relative;
}

function portHint(error: unknown, listen: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') return error;
  return new AppError('address_in_use', `${listen} is in use by another program`, {
    hint: 'npm start -- --listen 127.0.0.1:0 takes a free port',
    cause: error,
  });
}
