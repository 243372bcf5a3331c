import type { HeadgateClient, ScheduleGetAnswer, ScheduleListAnswer } from '../../client/index.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { REMOTE_OPTIONS, withServer } from '../remote/connect.ts';
import { table } from '../render/render.ts';

type Schedule = ScheduleListAnswer['schedules'][number];

export const schedulesCommand = defineCommand({
  name: 'schedules',
  summary: 'List the schedules of a server; pause, resume or run one.',
  description:
    'A schedule is a document in the folder `--schedules` of the server, or a launched template, that has a block `schedule`. ' +
    '`--resume` also begins one again that has ended; `--run` runs it now and prints the id of the run.',
  arguments: [
    { name: 'name', description: 'One schedule: the name of its file, or `template:` and an id.' },
  ],
  options: {
    pause: switchOption({
      conflicts: ['resume', 'run'],
      description: 'Its ticks start nothing until it is resumed.',
    }),
    resume: switchOption({ conflicts: ['run'], description: 'Goes on with its next tick.' }),
    run: switchOption({ description: 'Runs its document now.' }),
    ...REMOTE_OPTIONS,
  },
  examples: [
    { command: 'headgate schedules', description: 'All of them, with their last and next run' },
    { command: 'headgate schedules nightly --pause', description: 'Before a maintenance' },
  ],
  async run(context, { options, positionals: [name] }) {
    const { terminal } = context;
    const { pause, resume, run, json } = options;
    if (name === undefined && (pause || resume || run))
      throw usageError('say which schedule', 'see `headgate schedules`');
    return withServer(context, options, async (client) => {
      if (name !== undefined && run) {
        const receipt = await answered(client, 'run', name);
        if (json) terminal.json(receipt);
        else terminal.print(receipt.run_id);
        return EXIT.ok;
      }
      const schedules =
        name === undefined
          ? await listed(client)
          : [await answered(client, pause ? 'pause' : resume ? 'resume' : 'show', name)];
      if (json) terminal.json(name === undefined ? { schedules } : schedules[0]);
      else if (schedules.length === 0) terminal.note('the server has no schedules');
      else for (const line of scheduleTable(schedules)) terminal.print(line);
      return EXIT.ok;
    });
  },
});

async function listed({ routes }: HeadgateClient): Promise<readonly Schedule[]> {
  const { data } = await routes.GET('/v1/schedules');
  return data?.schedules ?? [];
}

async function answered(
  client: HeadgateClient,
  verb: 'run',
  name: string,
): Promise<{ readonly run_id: string }>;
async function answered(
  client: HeadgateClient,
  verb: 'show' | 'pause' | 'resume',
  name: string,
): Promise<ScheduleGetAnswer>;
async function answered(
  { routes }: HeadgateClient,
  verb: 'run' | 'show' | 'pause' | 'resume',
  name: string,
): Promise<unknown> {
  const params = { path: { name } };
  switch (verb) {
    case 'run':
      return (await routes.POST('/v1/schedules/{name}/run', { params })).data;
    case 'show':
      return (await routes.GET('/v1/schedules/{name}', { params })).data;
    case 'pause':
      return (await routes.POST('/v1/schedules/{name}/pause', { params })).data;
    case 'resume':
      return (await routes.POST('/v1/schedules/{name}/resume', { params })).data;
    default:
      return verb satisfies never;
  }
}

function scheduleTable(schedules: readonly Schedule[]): string[] {
  const cells = schedules.map((schedule) => [
    schedule.name,
    schedule.state,
    schedule.cron === null ? '' : `${schedule.cron} ${schedule.timezone}`,
    schedule.next_run ?? '',
    lastRun(schedule),
    schedule.reason ?? '',
  ]);
  return table(['schedule', 'state', 'cron', 'next run', 'last run', 'reason'], cells);
}

function lastRun({ last_run: last }: Schedule): string {
  if (last === null) return '';
  return `${last.tick} ${last.status}${last.error === null ? '' : `: ${last.error}`}`;
}
