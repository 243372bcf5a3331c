import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defineCommand } from '../framework/command.ts';
import { count } from '../../lib/text/count.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import {
  credentialVariables,
  integerOption,
  listOption,
  readOptions,
  switchOption,
  textOption,
  withVariables,
  type Values,
} from '../framework/option.ts';
import { shortPath } from '../framework/report-error.ts';
import type { RunningServer, ServeAuth, ServeHistory, ServeOptions } from '../serve-options.ts';
import { listenForStop, untilAborted } from '../framework/signals.ts';
import { isPostgresAddress, shownAddress } from '../../history/postgres/address.ts';
import { makeFolderSync } from '../../lib/files/make-folder.ts';
import { VARIABLES } from '../../lib/variables.ts';

const DEFAULT_CONCURRENT_RUNS = Math.min(16, Math.max(1, availableParallelism()));
const DAY_SECS = 86_400;
const LEASE_TTL_SECS = 30;
/** Others take over within five seconds. */
const CLUSTER_LEASE_TTL_SECS = 4;

const options = withVariables('SERVE', {
  listen: textOption({
    value: 'ADDRESS',
    default: '127.0.0.1:8080',
    description: 'Address and port to listen on; port 0 takes a free one.',
  }),
  authToken: textOption({
    value: 'TOKEN',
    credential: true,
    description: 'One token with all rights.',
  }),
  noAuth: switchOption({
    description: 'No authentication: everybody has all rights. For use on one machine.',
  }),
  authConfig: textOption({
    value: 'FILE',
    completes: 'file',
    description: 'Names, tokens and roles, as YAML or JSON.',
  }),
  readToken: textOption({
    value: 'TOKEN',
    credential: true,
    description: 'Token of the role viewer.',
  }),
  writeToken: textOption({
    value: 'TOKEN',
    credential: true,
    description: 'Token of the role operator.',
  }),
  adminToken: textOption({
    value: 'TOKEN',
    credential: true,
    description: 'Token of the role admin.',
  }),
  maxConcurrentRuns: integerOption({
    value: 'N',
    min: 1,
    max: 1024,
    default: DEFAULT_CONCURRENT_RUNS,
    defaultText: 'the number of CPUs, at most 16',
    description: 'Runs that execute at the same time.',
  }),
  maxQueuedRuns: integerOption({
    value: 'N',
    min: 1,
    defaultText: '8 times --max-concurrent-runs',
    description: 'Longest queue of runs; further submissions get 429.',
  }),
  defaultConfig: textOption({
    value: 'FILE',
    completes: 'file',
    description: 'Document with defaults for every submission.',
  }),
  triggers: textOption({
    value: 'FILE',
    completes: 'file',
    description: 'What starts runs: webhooks, objects that arrive, queues that grow long.',
  }),
  schedules: textOption({
    value: 'DIR',
    completes: 'directory',
    description: 'Folder of documents that are run at the times that their `schedule` names.',
  }),
  dataDir: textOption({
    value: 'DIR',
    completes: 'directory',
    default: '.headgate',
    description: 'Folder of the history.',
  }),
  history: textOption({
    value: 'WHERE',
    credential: true,
    defaultText: 'history.db in --data-dir',
    description:
      'Where runs, logs, audit, catalog, templates and schedules are stored: `sqlite:PATH`, `postgres://user:password@host:port/database` (`?schema=NAME` for tables in a schema of their own), or `memory`, which loses everything when the server stops.',
  }),
  allowEnv: listOption({
    value: 'PATTERN',
    description:
      'Environment variables that documents may read, for example `ETL_*`; `*` and `?` stand for any letters. Without it they may read all but the credentials of the server.',
  }),
  dataRoot: textOption({
    value: 'DIR',
    completes: 'directory',
    description:
      'Folder that every file of a document must lie in, links resolved: sources, sinks, dead letters, state, `${file:…}`. Without it documents may use every file that the server may.',
  }),
  corsOrigin: listOption({
    value: 'ORIGIN',
    description:
      'Web origin whose pages may call the API, for example `https://console.example.org`.',
  }),
  bodyLimitBytes: integerOption({
    value: 'N',
    min: 1,
    default: 1_048_576,
    description: 'Largest request body, in bytes.',
  }),
  shutdownGraceSecs: integerOption({
    value: 'N',
    min: 1,
    default: 60,
    description: 'How long runs may continue after the server was asked to stop, in seconds.',
  }),
  retainTerminalRunsSecs: integerOption({
    value: 'N',
    min: 1,
    default: 7 * DAY_SECS,
    description: 'How long finished runs and audit entries are kept, in seconds.',
  }),
  idempotencyRetentionSecs: integerOption({
    value: 'N',
    min: 0,
    default: DAY_SECS,
    description: 'How long an idempotency key is remembered, in seconds; 0: not at all.',
  }),
  logRetentionSecs: integerOption({
    value: 'N',
    min: 0,
    default: 7 * DAY_SECS,
    description: 'How long log lines are kept, in seconds; 0: not at all.',
  }),
  logMaxLinesPerRun: integerOption({
    value: 'N',
    min: 1,
    default: 100_000,
    description: 'Most log lines that are kept of one run.',
  }),
  leaseTtlSecs: integerOption({
    value: 'N',
    min: 1,
    defaultText: `${LEASE_TTL_SECS}; ${CLUSTER_LEASE_TTL_SECS} with --cluster`,
    description: 'Seconds after which a server that does not report counts as dead.',
  }),
  probeTimeoutSecs: integerOption({
    value: 'N',
    min: 1,
    default: 10,
    description: 'Time limit of one preflight probe, in seconds.',
  }),
  callbackAllowHost: listOption({
    value: 'HOST',
    description:
      'Host that callbacks may be sent to, even one with a link-local address. When any is given, all others are refused.',
  }),
  noUi: switchOption({
    description: 'No web console at `/`; browsers get a page with links to the API.',
  }),
  cluster: switchOption({
    description:
      'Share one queue with all servers that use the same history, which must be in PostgreSQL, and take over runs of those that are lost.',
  }),
  clusterPollSecs: integerOption({
    value: 'N',
    min: 1,
    default: 2,
    description:
      'With `--cluster`: seconds after which a server looks for runs although none was announced.',
  }),
  clusterMaxAttempts: integerOption({
    value: 'N',
    min: 1,
    default: 3,
    description:
      'With `--cluster`: how often a run whose server was lost is tried again before it fails.',
  }),
  shutdownHandover: switchOption({
    description:
      'With `--cluster`: a server that shuts down gives its runs to others at their next page, instead of waiting for their end.',
  }),
  templatesSync: textOption({
    value: 'FILE',
    completes: 'file',
    description: 'Origins that templates are read from: folders and git repositories.',
  }),
  mcp: switchOption({
    description: 'Serve tools to agents at `/mcp` (Model Context Protocol).',
  }),
  mcpAllowMutations: switchOption({
    description: 'With `--mcp`: also the tools that run documents and change templates.',
  }),
  localOutputRetentionDays: integerOption({
    value: 'N',
    min: 0,
    default: 7,
    env: VARIABLES.localOutputRetentionDays,
    description:
      'Days after which files that sinks wrote on this machine are deleted, unless their document says otherwise; 0 keeps them.',
  }),
  localOutputInFlightGraceSecs: integerOption({
    value: 'N',
    min: 0,
    default: 60,
    env: VARIABLES.localOutputGraceSecs,
    description:
      'A file that was changed within this many seconds counts as in use and is not deleted; 0: no such rule.',
  }),
  previewLocalOutputs: switchOption({
    description:
      'Let API users with the right to read see records of the files that sinks wrote on this machine.',
  }),
  previewDefaultRows: integerOption({
    value: 'N',
    min: 0,
    default: 500,
    description: 'Records in such a preview; 0 shows all.',
  }),
  previewMaxRows: integerOption({
    value: 'N',
    min: 0,
    default: 5000,
    description: 'Most records in such a preview; 0 removes the limit.',
  }),
});

export type ServeValues = Values<typeof options>;

/** What the flags by option key, the variables and the defaults come to. */
export function serveValues(
  flags: ReadonlyMap<string, readonly string[]>,
  variables: CliContext['world']['variables'],
): ServeValues {
  return readOptions(options, flags, variables);
}

export const serveCommand = defineCommand({
  name: 'serve',
  summary: 'Run the HTTP control plane.',
  description:
    'Accepts runs over HTTP, executes them, and stores their results and logs. Choose exactly one way to authenticate: ' +
    '`--auth-token`, `--auth-config`, any of `--read-token`, `--write-token` and `--admin-token`, or `--no-auth`.\n\n' +
    'The first SIGTERM or SIGINT lets runs finish within `--shutdown-grace-secs`; a second one ends the server at once. ' +
    'SIGHUP makes it read `--default-config`, `--auth-config`, `--triggers` and `--schedules` again, like `POST /v1/reload`.',
  options,
  examples: [
    { command: 'headgate serve --no-auth', description: 'Try it on this machine' },
    {
      command: 'HEADGATE_SERVE_AUTH_TOKEN=… headgate serve --listen 0.0.0.0:8080',
      description: 'On all network interfaces, with one token',
    },
  ],
  async run(context, input) {
    const serveOptions = readServeOptions(context, input.options);
    using stops = listenForStop(context.world, 'shutdown', (signal) => {
      context.terminal.note(
        `${signal}: letting runs finish, for at most ${serveOptions.shutdownGraceSecs} s; send it again to stop at once`,
      );
    });
    const server = await context.wiring.serve(serveOptions);
    announce(context, serveOptions, server);
    const stopReloading = context.world.onHangup(() => void server.reload());
    await Promise.race([untilAborted(stops.signal), server.closed]);
    await server.drain(serveOptions.shutdownGraceSecs);
    stopReloading();
    const signal = stops.received();
    context.terminal.note(signal === undefined ? 'the server has closed' : 'stopped');
    return signal === undefined ? EXIT.failed : EXIT.ok;
  },
});

type ServeContext = Pick<CliContext, 'world' | 'env' | 'isLevelChosen' | 'allowedConnectors'>;

/** Also used by other commands that start a server. */
export function readServeOptions(
  { world, env, isLevelChosen, allowedConnectors }: ServeContext,
  values: ServeValues,
): ServeOptions {
  const auth = authOf(values);
  // Registered before anything can be logged: even a start-up error must not show a token.
  for (const token of [auth.authToken, auth.readToken, auth.writeToken, auth.adminToken])
    if (token !== undefined) env.redactor.register(token);
  if (isPostgresAddress(values.history ?? '')) env.redactor.register(values.history ?? '');
  const dataDir = path.resolve(world.cwd, values.dataDir);
  return {
    env,
    isLevelChosen,
    listen: values.listen,
    auth,
    history: historyOf(values.history, dataDir, world.cwd),
    dataDir,
    defaultConfig: absolute(values.defaultConfig, world.cwd),
    triggers: absolute(values.triggers, world.cwd),
    schedules: absolute(values.schedules, world.cwd),
    templatesSync: absolute(values.templatesSync, world.cwd),
    mcp: mcpOf(values),
    hasConsole: !values.noUi,
    maxConcurrentRuns: values.maxConcurrentRuns,
    maxQueuedRuns: values.maxQueuedRuns ?? 8 * values.maxConcurrentRuns,
    corsOrigins: values.corsOrigin,
    credentialVariables: credentialVariables(options),
    allowEnv: values.allowEnv.length === 0 ? undefined : values.allowEnv,
    allowConnectors: allowedConnectors,
    dataRoot: absolute(values.dataRoot, world.cwd),
    bodyLimitBytes: values.bodyLimitBytes,
    shutdownGraceSecs: values.shutdownGraceSecs,
    retainTerminalRunsSecs: values.retainTerminalRunsSecs,
    idempotencyRetentionSecs: values.idempotencyRetentionSecs,
    logRetentionSecs: values.logRetentionSecs,
    logMaxLinesPerRun: values.logMaxLinesPerRun,
    leaseTtlSecs: values.leaseTtlSecs ?? (values.cluster ? CLUSTER_LEASE_TTL_SECS : LEASE_TTL_SECS),
    cluster: clusterOf(values),
    probeTimeoutSecs: values.probeTimeoutSecs,
    callbackAllowHosts: values.callbackAllowHost,
    localOutputs: {
      retentionDays: values.localOutputRetentionDays,
      graceSecs: values.localOutputInFlightGraceSecs,
      preview: {
        enabled: values.previewLocalOutputs,
        defaultRows: values.previewDefaultRows || null,
        maxRows: values.previewMaxRows || null,
      },
    },
  };
}

function mcpOf({ mcp, mcpAllowMutations: allowsMutations }: ServeValues): ServeOptions['mcp'] {
  if (!mcp && allowsMutations)
    throw usageError('--mcp-allow-mutations belongs to --mcp', 'give both, or neither');
  return mcp ? { allowsMutations } : undefined;
}

/** Servers on one file, or on none, cannot see each other. */
function clusterOf(values: ServeValues): ServeOptions['cluster'] {
  const { cluster, history, shutdownHandover: handsOver } = values;
  if (!cluster && handsOver)
    throw usageError('--shutdown-handover belongs to --cluster', 'give both, or neither');
  if (!cluster) return undefined;
  if (!isPostgresAddress(history ?? ''))
    throw usageError(
      '--cluster needs a history in PostgreSQL, which all servers share',
      'give every server the same `--history postgres://…`',
    );
  return {
    pollSecs: values.clusterPollSecs,
    maxAttempts: values.clusterMaxAttempts,
    handsOver,
  };
}

function absolute(file: string | undefined, cwd: string): string | undefined {
  return file === undefined ? undefined : path.resolve(cwd, file);
}

function authOf(values: ServeValues): ServeAuth {
  const given = {
    authToken: values.authToken,
    authConfig: values.authConfig,
    readToken: values.readToken,
    writeToken: values.writeToken,
    adminToken: values.adminToken,
  };
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...(values.noAuth ? { noAuth: true } : {}), ...Object.fromEntries(present) };
}

function historyOf(where: string | undefined, dataDir: string, cwd: string): ServeHistory {
  if (where === undefined) {
    makeFolderSync(dataDir);
    return { kind: 'sqlite', path: path.join(dataDir, 'history.db') };
  }
  if (where === 'memory') return { kind: 'memory' };
  const file = /^sqlite:(?:\/\/)?(.+)$/.exec(where)?.[1];
  if (file !== undefined) return { kind: 'sqlite', path: path.resolve(cwd, file) };
  if (isPostgresAddress(where)) return { kind: 'postgres', url: where };
  throw usageError('--history must be `memory`, `sqlite:PATH` or `postgres://…`');
}

/** Nobody should learn from a missing file that files are deleted. */
function retentionText(days: number): string {
  if (days === 0) return 'files that runs write are kept';
  return `files that runs write here are DELETED ${count(days, 'day')} after their last write; --local-output-retention-days 0 keeps them`;
}

function placeOf(history: ServeHistory, cwd: string): string {
  switch (history.kind) {
    case 'memory':
      return '';
    case 'sqlite':
      return ` (${shortPath(history.path, cwd)})`;
    case 'postgres':
      return ` (${shownAddress(history.url)})`;
    default:
      return history satisfies never;
  }
}

function announce(
  { terminal, world }: CliContext,
  { auth, history, localOutputs }: ServeOptions,
  server: RunningServer,
): void {
  terminal.note(
    `${terminal.paint('bold', 'Headgate')} listens on ${terminal.paint('cyan', server.url)}`,
  );
  terminal.note(`history: ${server.historyText}${placeOf(history, world.cwd)}`);
  const header = auth.noAuth === true ? '' : ` -H 'Authorization: Bearer …'`;
  terminal.note(`try:     curl -s${header} ${server.url}/v1/schemas`);
  terminal.note(`outputs: ${retentionText(localOutputs.retentionDays)}`);
}
