/** Schedules: documents that the server runs at the times that they name. */
import { z } from 'zod';
import { submissionReceiptSchema } from '../../wire/run.ts';
import { scheduleListSchema, scheduleSchema } from '../../wire/schedules.ts';
import { defineRoute, json, type Route } from '../route.ts';

const scheduleParams = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(250)
    .meta({ description: 'Name of the file without extension, or `template:` and an id.' }),
});

const listSchedules = defineRoute({
  method: 'GET',
  path: '/v1/schedules',
  permission: 'run_read',
  label: 'schedule.list',
  tag: 'schedules',
  summary: 'List schedules, with their last and next run',
  description:
    'A schedule is a document in the folder `--schedules`, or the launched version of a template, that has a block `schedule`.',
  uses: ['schedules'],
  responses: { 200: { description: 'The schedules, by name.', schema: scheduleListSchema } },
  handle: (_call, { schedules }) => json(200, { schedules: schedules.list() }),
});

const getSchedule = defineRoute({
  method: 'GET',
  path: '/v1/schedules/{name}',
  permission: 'run_read',
  label: 'schedule.get',
  tag: 'schedules',
  summary: 'Read a schedule',
  params: scheduleParams,
  uses: ['schedules'],
  responses: { 200: { description: 'The schedule.', schema: scheduleSchema } },
  handle: ({ params }, { schedules }) => json(200, schedules.get(params.name)),
});

const pauseSchedule = defineRoute({
  method: 'POST',
  path: '/v1/schedules/{name}/pause',
  permission: 'run_write',
  label: 'schedule.pause',
  tag: 'schedules',
  summary: 'Pause a schedule',
  description:
    'Its ticks start nothing until it is resumed, also after a restart of the server. A run that is active goes on.',
  params: scheduleParams,
  uses: ['schedules'],
  responses: { 200: { description: 'The schedule, paused.', schema: scheduleSchema } },
  refusals: ['conflict'],
  async handle({ params, caller }, { schedules }) {
    return json(200, await schedules.pause(params.name, caller));
  },
});

const resumeSchedule = defineRoute({
  method: 'POST',
  path: '/v1/schedules/{name}/resume',
  permission: 'run_write',
  label: 'schedule.resume',
  tag: 'schedules',
  summary: 'Resume a schedule',
  description:
    'It goes on with the next tick; those that came meanwhile are not run. One that has ended, after failures or after enough runs, begins again.',
  params: scheduleParams,
  uses: ['schedules'],
  responses: { 200: { description: 'The schedule.', schema: scheduleSchema } },
  refusals: ['conflict'],
  async handle({ params, caller }, { schedules }) {
    return json(200, await schedules.resume(params.name, caller));
  },
});

const runSchedule = defineRoute({
  method: 'POST',
  path: '/v1/schedules/{name}/run',
  permission: 'run_write',
  label: 'schedule.run',
  tag: 'schedules',
  summary: 'Run the document of a schedule now',
  description:
    '`${now.*}` is the time of the request. The run does not count for `max_runs` and the failures of the schedule.',
  params: scheduleParams,
  uses: ['schedules'],
  responses: { 202: { description: 'The run is queued.', schema: submissionReceiptSchema } },
  refusals: ['conflict', 'unprocessable', 'queue_full'],
  async handle({ params, caller }, { schedules }) {
    return json(202, await schedules.runNow(params.name, caller));
  },
});

export const scheduleRoutes: readonly Route[] = [
  listSchedules,
  getSchedule,
  pauseSchedule,
  resumeSchedule,
  runSchedule,
];
