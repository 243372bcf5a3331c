import { seconds, thousands } from '../../lib/text/count.ts';
import { RUN_STATUSES, type RunStatus } from '../../wire/run-status.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { integerOption, listOption, textOption } from '../framework/option.ts';
import { REMOTE_OPTIONS, withServer } from '../remote/connect.ts';
import { runLine } from '../remote/watch-run.ts';
import { table } from '../render/render.ts';

export const runsCommand = defineCommand({
  name: 'runs',
  summary: 'List the runs of a server, newest first, or show one.',
  description: 'With an id, the run with its invocations; without, a list.',
  arguments: [{ name: 'id', description: 'Id of a run.' }],
  options: {
    status: listOption({
      value: 'STATUS',
      description: `Only runs with this status: ${RUN_STATUSES.join(', ')}.`,
    }),
    name: textOption({ value: 'NAME', description: 'Only runs of this name.' }),
    since: textOption({
      value: 'TIME',
      description: 'Submitted at this time or later (RFC 3339).',
    }),
    until: textOption({
      value: 'TIME',
      description: 'Submitted at this time or earlier (RFC 3339).',
    }),
    limit: integerOption({
      value: 'N',
      min: 1,
      max: 100_000,
      default: 20,
      description: 'Runs to list.',
    }),
    ...REMOTE_OPTIONS,
  },
  examples: [
    { command: 'headgate runs --status failed --limit 5', description: 'The last failures' },
    { command: 'headgate runs 0198c7… --json', description: 'One run, for a program' },
  ],
  async run(context, { options, positionals: [id] }) {
    const { terminal } = context;
    const { status, name, since, until, limit } = options;
    return withServer(context, options, async (client) => {
      if (id !== undefined) {
        const run = await client.run(id);
        if (options.json) terminal.json(run);
        else {
          terminal.print(runLine(run));
          for (const line of invocationLines(run.invocations)) terminal.print(line);
        }
        return EXIT.ok;
      }
      const query = {
        limit: Math.min(limit, 500),
        ...(status.length === 0 ? {} : { status: statusesOf(status) }),
        ...(name === undefined ? {} : { name }),
        ...(since === undefined ? {} : { since }),
        ...(until === undefined ? {} : { until }),
      };
      const runs = [];
      for await (const run of client.runs(query)) {
        runs.push(run);
        if (runs.length === limit) break;
      }
      if (options.json) terminal.json({ runs });
      else if (runs.length === 0) terminal.note('there is no such run');
      else for (const line of runTable(runs)) terminal.print(line);
      return EXIT.ok;
    });
  },
});

function statusesOf(given: readonly string[]): RunStatus[] {
  return given.flatMap((text) =>
    text.split(',').map((one) => {
      const status = RUN_STATUSES.find((known) => known === one);
      if (status === undefined)
        throw usageError(`--status cannot be ${JSON.stringify(one)}`, RUN_STATUSES.join(', '));
      return status;
    }),
  );
}

interface ListedRun {
  readonly run_id: string;
  readonly name: string | null;
  readonly status: string;
  readonly submitted_at: string;
  readonly elapsed_secs: number | null;
  readonly records_written: number;
}

function runTable(runs: readonly ListedRun[]): string[] {
  const cells = runs.map((run) => [
    run.run_id,
    run.name ?? '',
    run.status,
    run.submitted_at,
    run.elapsed_secs == null ? '' : seconds(run.elapsed_secs * 1000),
    thousands(run.records_written),
  ]);
  return table(['run', 'name', 'status', 'submitted', 'took', 'records'], cells, [4, 5]);
}

interface ListedInvocation {
  readonly row_id: string;
  readonly status: string;
  readonly records_written: number;
}

function invocationLines(invocations: readonly ListedInvocation[]): string[] {
  if (invocations.length === 0) return [];
  const cells = invocations.map((one) => [one.row_id, one.status, thousands(one.records_written)]);
  return table(['row', 'status', 'records'], cells, [2]);
}
