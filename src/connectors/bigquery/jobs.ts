/** Jobs: a query with its result page by page, and loads of objects. */
import { randomUUID } from 'node:crypto';
import { ConnectorError, isTransient, messageOf } from '../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { backoffMs, type BackoffPolicy } from '../../lib/time/backoff.ts';
import { runRequests } from '../_http/run-requests.ts';
import { BigqueryError, errorProto, isDuplicate } from './errors.ts';
import { toldOf, unlessRepeated, type Link } from './link.ts';
import type { QueryParameter } from './query-parameter.ts';
import type { TablePlace } from './table-name.ts';

const MS = 1000;
const CANCEL_MS = 2000;

export interface Query {
  readonly sql: string;
  readonly parameters?: readonly QueryParameter[];
  readonly isLegacy?: boolean;
  /** Rows of the first part of the result; all that fit into an answer when absent. */
  readonly pageRows?: number | undefined;
}

/** A part of the result of a job that has ended. */
export interface ResultPart {
  readonly fields: readonly JsonValue[];
  readonly rows: readonly JsonValue[];
  /** How many rows all parts have, where the server says so. */
  readonly total: number | undefined;
  /** How many rows a statement has changed. */
  readonly changed: number;
  readonly job: JobPlace;
  /** Where the next part is; absent after the last. */
  readonly next?: { readonly job: JobPlace; readonly pageToken: string };
}

export interface JobPlace {
  readonly jobId: string;
  readonly location?: string | undefined;
}

/** Runs a statement to its end. It has either happened once, or not at all. */
export function runQuery(link: Link, what: string, query: Query): Promise<ResultPart> {
  return withNewJobs(link, what, async () => {
    // The same request may come twice: BigQuery knows it by its id.
    const body = { ...queryBody(link, query), requestId: randomUUID() };
    const first = await link.ask(what, { method: 'POST', path: 'queries', body });
    const job = placeOf(first, link);
    const ended = await untilEnded(link, { first, job, what, pageRows: query.pageRows });
    return partOf(ended, job);
  });
}

/** A job that failed for a reason that passes has changed nothing, and is begun anew. */
async function withNewJobs<T extends object>(
  link: Link,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const run = runRequests(link.context);
  const mayPass = (error: unknown): boolean =>
    error instanceof BigqueryError && error.endsJob && !error.isConflict;
  return toldOf(
    await run(what, link.context.signal, () =>
      afterOthers(link, what, work).catch(unlessRepeated(mayPass)),
    ),
  );
}

/** Transactions take seconds, and one of those that change a table at the same time is committed. */
const CONFLICT_WAITS: BackoffPolicy = {
  backoff: 'exponential',
  baseMs: 250,
  maxMs: 30_000,
  jitter: true,
};
const MOST_CONFLICTS = 12;

async function afterOthers<T>(
  { context: { env, signal } }: Link,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isConflict = error instanceof BigqueryError && error.isConflict;
      if (!isConflict || attempt === MOST_CONFLICTS) throw error;
      env.log.info('another job changed the same table; trying again', { request: what });
      await env.clock.sleep(backoffMs(CONFLICT_WAITS, attempt), signal);
      signal.throwIfAborted();
    }
  }
}

/** So long the first request waits: only then the job can be cancelled. */
const FIRST_WAIT_SECS = 5;

function queryBody({ config }: Link, query: Query): JsonObject {
  const { parameters = [], isLegacy = false, pageRows } = query;
  return {
    query: query.sql,
    useLegacySql: isLegacy,
    timeoutMs: Math.min(config.statement_timeout, FIRST_WAIT_SECS) * MS,
    formatOptions: { useInt64Timestamp: true },
    ...(config.location === undefined ? {} : { location: config.location }),
    ...(pageRows === undefined ? {} : { maxResults: pageRows }),
    ...(parameters.length === 0
      ? {}
      : {
          parameterMode: parameters[0]?.name === undefined ? 'POSITIONAL' : 'NAMED',
          queryParameters: parameters.map(({ name, type, value }) => ({
            ...(name === undefined ? {} : { name }),
            parameterType: { type },
            parameterValue: { value },
          })),
        }),
  };
}

/** The fields of the result, and whether the query can be run; costs nothing. */
export async function dryRun(
  link: Link,
  what: string,
  query: Query,
): Promise<readonly JsonValue[]> {
  const body = { ...queryBody(link, query), dryRun: true };
  const answer = await link.ask(what, { method: 'POST', path: 'queries', body });
  return fieldsOf(answer);
}

interface Ending {
  readonly first: JsonObject;
  readonly job: JobPlace;
  readonly what: string;
  readonly pageRows: number | undefined;
}

async function untilEnded(link: Link, { first, job, what, pageRows }: Ending): Promise<JsonObject> {
  const { clock } = link.context.env;
  const { poll_timeout: most, statement_timeout: wait } = link.config;
  const startedMs = clock.elapsedMs();
  let answer = first;
  try {
    while (answer['jobComplete'] !== true) {
      const leftMs = most === 0 ? Infinity : startedMs + most * MS - clock.elapsedMs();
      if (leftMs <= 0) throw tooLate(job, most);
      answer = await link.ask(what, {
        path: `queries/${encodeURIComponent(job.jobId)}`,
        query: {
          location: job.location,
          timeoutMs: Math.ceil(Math.min(wait * MS, leftMs)),
          maxResults: pageRows,
          'formatOptions.useInt64Timestamp': 'true',
        },
      });
    }
    return answer;
  } catch (error) {
    await cancelUnlessEnded(link, job, error);
    throw error;
  }
}

function tooLate({ jobId }: JobPlace, secs: number): ConnectorError {
  return new ConnectorError('refused', `the job ${jobId} has not ended within ${secs} s`, {
    hint: 'raise `poll_timeout`, or make the query faster',
  });
}

/** A job that nobody waits for goes on, and costs. */
async function cancelUnlessEnded(link: Link, job: JobPlace, error: unknown): Promise<void> {
  if (error instanceof BigqueryError && (error.endsJob || !isTransient(error.kind))) return;
  await cancelJob(link, job);
}

async function cancelJob(link: Link, { jobId, location }: JobPlace): Promise<void> {
  try {
    await link.askAnyway(
      { method: 'POST', path: `jobs/${encodeURIComponent(jobId)}/cancel`, query: { location } },
      AbortSignal.timeout(CANCEL_MS),
    );
  } catch (error) {
    link.context.env.log.warn('a job could not be cancelled', {
      job: jobId,
      reason: messageOf(error),
    });
  }
}

/** The table in which BigQuery keeps the result of a query that has ended. */
export async function destinationOf(link: Link, job: JobPlace): Promise<TablePlace> {
  const { configuration } = await lookAtJob(link, 'looking for the result', job);
  const { query } = isObject(configuration) ? configuration : {};
  const { destinationTable } = isObject(query) ? query : {};
  if (!isObject(destinationTable))
    throw new ConnectorError('refused', 'the statement has no result that is kept in a table', {
      hint: 'write one SELECT, or set `read_api: false`',
    });
  const { projectId, datasetId, tableId } = destinationTable;
  return {
    project: jsonText(projectId ?? ''),
    dataset: jsonText(datasetId ?? ''),
    table: jsonText(tableId ?? ''),
  };
}

/** The part of the result that follows. */
export async function nextPart(
  link: Link,
  { job, pageToken }: NonNullable<ResultPart['next']>,
  pageRows: number,
): Promise<ResultPart> {
  const answer = await link.ask('reading the result', {
    path: `queries/${encodeURIComponent(job.jobId)}`,
    query: {
      location: job.location,
      maxResults: pageRows,
      pageToken,
      'formatOptions.useInt64Timestamp': 'true',
    },
  });
  return partOf(answer, job);
}

/** Loads objects to its end. A load is all or nothing. */
export async function runLoad(link: Link, what: string, load: JsonObject): Promise<void> {
  const { project_id: projectId, location } = link.config;
  await withNewJobs(link, what, async () => {
    const jobId = `svc_load_${randomUUID()}`;
    const jobReference = { projectId, jobId, ...(location === undefined ? {} : { location }) };
    const body = { jobReference, configuration: { load } };
    let answer: JsonObject;
    try {
      answer = await link.ask(what, { method: 'POST', path: 'jobs', body });
    } catch (error) {
      // Its answer was lost, and it came again.
      if (!isDuplicate(error)) throw error;
      answer = await lookAtJob(link, what, { jobId, location });
    }
    return untilLoaded(link, what, { answer, job: placeOf(answer, link) });
  });
}

const LONGEST_PAUSE_MS = 5000;

async function untilLoaded(
  link: Link,
  what: string,
  { answer: first, job }: { readonly answer: JsonObject; readonly job: JobPlace },
): Promise<JsonObject> {
  const { clock, redactor } = link.context.env;
  const { poll_timeout: most } = link.config;
  const startedMs = clock.elapsedMs();
  let answer = first;
  try {
    for (
      let pauseMs = 200;
      stateOf(answer) !== 'DONE';
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    ) {
      if (most !== 0 && clock.elapsedMs() - startedMs > most * MS) throw tooLate(job, most);
      await clock.sleep(pauseMs, link.context.signal);
      link.context.signal.throwIfAborted();
      answer = await lookAtJob(link, what, job);
    }
  } catch (error) {
    await cancelUnlessEnded(link, job, error);
    throw error;
  }
  const { status } = answer;
  const { errorResult, errors } = isObject(status) ? status : {};
  if (errorResult === undefined || errorResult === null) return answer;
  const main = errorProto(errorResult, redactor);
  const details = (Array.isArray(errors) ? errors : [])
    .map((one) => errorProto(one, redactor).message)
    .filter((message) => message !== '' && message !== main.message)
    .slice(0, 3);
  throw new BigqueryError(
    { reason: main.reason, message: [main.message, ...details].join('; ') },
    { endsJob: true },
  );
}

function lookAtJob(link: Link, what: string, { jobId, location }: JobPlace): Promise<JsonObject> {
  return link.ask(what, { path: `jobs/${encodeURIComponent(jobId)}`, query: { location } });
}

function stateOf({ status }: JsonObject): string {
  return isObject(status) ? jsonText(status['state'] ?? '') : '';
}

function placeOf({ jobReference }: JsonObject, { config }: Link): JobPlace {
  const { jobId, location } = isObject(jobReference) ? jobReference : {};
  if (typeof jobId === 'string')
    return { jobId, location: typeof location === 'string' ? location : config.location };
  throw new ConnectorError('data', 'BigQuery began a job and did not say which', {
    hint: 'check `api_endpoint`',
  });
}

function partOf(answer: JsonObject, job: JobPlace): ResultPart {
  const { rows, pageToken, totalRows: total, numDmlAffectedRows: changed } = answer;
  return {
    fields: fieldsOf(answer),
    rows: Array.isArray(rows) ? rows : [],
    total: total === undefined || total === null ? undefined : Number(total),
    changed: Number(changed ?? 0),
    job,
    ...(typeof pageToken === 'string' && pageToken !== '' ? { next: { job, pageToken } } : {}),
  };
}

function fieldsOf({ schema }: JsonObject): readonly JsonValue[] {
  const { fields } = isObject(schema) ? schema : {};
  return Array.isArray(fields) ? fields : [];
}
