import { z } from 'zod';
import { finding, json, number, optional, text } from '../../../kit/schema.ts';
import { headerMap, httpMethod, isBodyless, scalarText } from '../../_http/fields.ts';
import { jsonPath } from '../../_http/json-path.ts';

export const JOB_TOKEN = '${job_id}';

const call = () => ({
  method: httpMethod().default('GET').meta({ description: 'HTTP method.' }),
  headers: headerMap().default({}).meta({ description: 'Headers besides those of the source.' }),
  query: z.record(z.string(), scalarText()).default({}).meta({ description: 'Query parameters.' }),
});
const body = () => ({ json: optional(json()).meta({ description: 'JSON body.' }) });
const url = () =>
  text().meta({
    description: 'Address, absolute or below `base_url`; `${job_id}` stands for the job.',
  });

/** `async_job`: start a job, wait for it, fetch its result. */
export function asyncJob() {
  return optional(
    z
      .strictObject({
        submit: z
          .strictObject({ ...call(), ...body(), url: url() })
          .meta({ description: 'The request that starts the job.' }),
        job_id: optional(jsonPath()).meta({
          description: 'JSONPath of the job id in the answer to `submit`.',
        }),
        poll: z
          .strictObject({
            ...call(),
            url: url(),
            interval_secs: number({ min: 0, max: 3600 })
              .default(5)
              .meta({ description: 'Seconds between two requests for the state.' }),
            timeout_secs: number({ min: 0 }).default(1800).meta({
              description: 'Seconds after which waiting for the job ends, and the run fails.',
            }),
          })
          .meta({ description: 'The request for the state of the job.' }),
        status: z
          .strictObject({
            path: jsonPath().meta({
              description: 'JSONPath of the state in the answer to `poll`.',
            }),
            success: z
              .array(scalarText())
              .min(1)
              .meta({ description: 'States of a job that is done.' }),
            failure: z
              .array(scalarText())
              .default([])
              .meta({ description: 'States of a job that has failed.' }),
          })
          .meta({ description: 'Where the answer has the state of the job.' }),
        fetch: z
          .strictObject({
            ...call(),
            ...body(),
            url: optional(url()).meta({
              description: 'Address of the result; `${job_id}` stands for the job.',
            }),
            url_from: optional(jsonPath()).meta({
              description: 'JSONPath of the address of the result in the last answer to `poll`.',
            }),
          })
          .meta({ description: 'The request that fetches the result.' }),
      })
      .superRefine((job, ctx) => {
        if ((job.fetch.url === undefined) === (job.fetch.url_from === undefined)) {
          ctx.addIssue(
            finding('invalid_value', '`fetch` needs exactly one of `url` and `url_from`', {
              path: ['fetch'],
            }),
          );
        }
        for (const [name, one] of [
          ['submit', job.submit],
          ['fetch', job.fetch],
        ] as const) {
          if (one.json === undefined || !isBodyless(one.method)) continue;
          const hint = 'set `method: POST`';
          ctx.addIssue(
            finding('invalid_value', `a ${one.method} request has no body`, {
              path: [name, 'json'],
              hint,
            }),
          );
        }
        const uses = JSON.stringify([
          job.poll.url,
          job.poll.query,
          job.fetch.url,
          job.fetch.query,
        ]).includes(JOB_TOKEN);
        if (uses && job.job_id === undefined) {
          ctx.addIssue(
            finding(
              'missing_key',
              `\`${JOB_TOKEN}\` is used but \`job_id\` does not say where to find it`,
              { path: ['job_id'] },
            ),
          );
        }
      }),
  ).meta({ description: 'Starts a job at the API, waits until it is done and reads its result.' });
}

export type AsyncJob = NonNullable<z.infer<ReturnType<typeof asyncJob>>>;
