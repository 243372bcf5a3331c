/** Life of a worker: one job after the other, until it is stopped or its server is gone. */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../lib/time/clock.ts';
import type { Access } from '../../lib/access.ts';
import { beginFileChecks, restrictFiles } from '../../lib/files/file-access.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Env } from '../../lib/env.ts';
import { AppError, messageOf, RefusedError, StopReason } from '../../lib/errors.ts';
import { uuidIds } from '../../lib/ids.ts';
import { createLog, type LogLevel } from '../../lib/log.ts';
import { createMetricRelay, type MetricRelay } from '../../lib/metrics/metric-relay.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { Redactor } from '../../lib/redact.ts';
import { JOB_VERSION, type Job, type JobEnd, type StopCause } from '../../wire/job.ts';
import type { AnyJobDefinition, JobContext } from './define-job.ts';
import { EventSender } from './event-sender.ts';
import { faultOf } from './job-fault.ts';
import { OwnerQuestions } from './owner-questions.ts';
import type { ToWorker } from './protocol.ts';
import { serverChannel, type ServerChannel } from './server-channel.ts';

/** Asked once: the system reads files to answer. */
const CWD = process.cwd();
const CPUS = availableParallelism();

/** After this one a worker looks for messages before it begins the next. */
const LONG_JOB_MS = 20;

const STOP_SENTENCES: Readonly<Record<StopCause, string>> = {
  cancel: 'the run was cancelled',
  timeout: 'the run took longer than its timeout_secs',
  shutdown: 'the server is shutting down',
};

export interface WorkerOptions {
  readonly jobs: readonly AnyJobDefinition[];
  readonly parts: Parts;
  /** What the documents of its jobs may take from this process. */
  readonly access?: Access;
  /** Threads that a job may use beside this process. */
  readonly threads: number;
}

/** Call once, in a process that `worker-process.ts` made. */
export function runWorkerLoop(options: WorkerOptions): void {
  restrictFiles(options.access?.files);
  const channel = serverChannel();
  const worker = new WorkerLoop(options, channel);
  channel.hear((message) => worker.hear(message));
  process.on('uncaughtException', (error) => worker.breakDown(error));
  void channel.say({ type: 'ready' });
}

interface Current {
  readonly id: string;
  readonly stop: AbortController;
  readonly sender: EventSender;
  readonly redactor: Redactor;
  readonly questions: OwnerQuestions;
}

class WorkerLoop {
  readonly #options: WorkerOptions;
  readonly #channel: ServerChannel;
  readonly #relay: MetricRelay = createMetricRelay();
  #waiting: Job[] = [];
  #isBusy = false;
  #current: Current | undefined;

  constructor(options: WorkerOptions, channel: ServerChannel) {
    this.#options = options;
    this.#channel = channel;
  }

  hear(message: ToWorker): void {
    switch (message.type) {
      case 'jobs':
        this.#waiting.push(...message.jobs);
        void this.#work();
        return;
      case 'drop':
        this.#waiting = this.#waiting.filter(({ id }) => id === message.except);
        void this.#channel.say({ type: 'dropped' });
        return;
      case 'stop':
        this.#current?.stop.abort(new StopReason(message.why, STOP_SENTENCES[message.why]));
        return;
      case 'ack':
        this.#current?.sender.acknowledged();
        return;
      case 'owner':
        if (this.#current?.id === message.id) this.#current.questions.answered(message);
        return;
      case 'exit':
        process.exit(0);
        return;
      default:
        message satisfies never;
    }
  }

  /** Nothing that happens after an uncaught error can be trusted. */
  breakDown(error: unknown): void {
    const text = messageOf(error);
    const current = this.#current;
    if (current !== undefined) {
      const batch = current.sender.end();
      void this.#channel.say({ type: 'batch', id: current.id, batch, isAwaited: false });
    }
    this.#channel.breakDown(current === undefined ? text : current.redactor.text(text));
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let job = this.#waiting.shift(); job !== undefined; job = this.#waiting.shift()) {
      const begun = performance.now();
      await this.#execute(job);
      // The others may have been given to another worker meanwhile.
      if (performance.now() - begun > LONG_JOB_MS) await sleep(1);
    }
    this.#isBusy = false;
  }

  async #execute(job: Job): Promise<void> {
    const { id } = job;
    beginFileChecks();
    const begun = performance.eventLoopUtilization();
    const sender = new EventSender({
      clock: systemClock,
      relay: this.#relay,
      send: (batch, isAwaited) => void this.#channel.say({ type: 'batch', id, batch, isAwaited }),
    });
    const current = {
      id,
      stop: new AbortController(),
      sender,
      redactor: new Redactor(),
      questions: new OwnerQuestions((event) => sender.event(event)),
    };
    this.#current = current;
    let end: JobEnd;
    try {
      end = { type: 'finished', answer: await this.#answer(job, current) };
    } catch (error) {
      if (!(error instanceof AppError)) {
        this.#waiting = [];
        return this.breakDown(error);
      }
      end = { type: 'refused', fault: faultOf(error, current.redactor) };
    }
    this.#current = undefined;
    const { idle: idleMs } = performance.eventLoopUtilization(begun);
    await this.#channel.say({ type: 'done', id, end, rest: sender.end(), idleMs });
  }

  #answer(job: Job, current: Current): Promise<unknown> {
    const { jobs } = this.#options;
    checkVersion(job);
    const definition = jobs.find(({ kind }) => kind === job.request.kind);
    const request = definition?.request.safeParse(job.request);
    if (definition === undefined || request?.success !== true)
      throw otherBuild(`a job \`${job.request.kind}\` that it cannot read`);
    // The definition was found by the kind of the request.
    const execute = definition.execute as (
      request: unknown,
      context: JobContext,
    ) => Promise<unknown>;
    return execute(request.data, this.#contextOf(job, current));
  }

  #contextOf(job: Job, { sender, redactor, stop, questions }: Current): JobContext {
    const { parts, threads, access } = this.#options;
    const logAt = (level: LogLevel | undefined): Env['log'] =>
      createLog({
        level: job.is_level_chosen ? job.log_level : (level ?? job.log_level),
        target: 'headgate',
        clock: systemClock,
        redactor,
        write: (line) => sender.log(line),
      });
    const env: Env = {
      clock: systemClock,
      ids: uuidIds,
      log: logAt(undefined),
      metrics: announcing(this.#relay.metrics, sender),
      redactor,
      fetch: globalThis.fetch,
      variables: process.env,
      ...(access === undefined ? {} : { variableAccess: access.variables }),
      cwd: CWD,
    };
    return {
      id: job.id,
      signal: stop.signal,
      env,
      parts,
      threads,
      cpus: CPUS,
      logAt,
      send: (event) => sender.event(event),
      isOwned: () => questions.ask(),
    };
  }
}

/**
 * Throws when the job was written by a server of another build. One of the same version is of the
 * same shape; its request is checked by the schema of its kind.
 */
function checkVersion(job: Job): void {
  const { version } = job as { readonly version: unknown };
  if (version !== JOB_VERSION)
    throw otherBuild(`a job of version ${String(version)}, and takes version ${JOB_VERSION}`);
}

function otherBuild(what: string): RefusedError {
  return new RefusedError('unavailable', `the worker process was given ${what}`, {
    hint: 'the server and its worker are of different builds: restart the server',
  });
}

function announcing(metrics: Metrics, sender: EventSender): Metrics {
  return {
    inc: (metric, labels, value) => {
      metrics.inc(metric, labels, value);
      sender.measured();
    },
    set: (metric, labels, value) => {
      metrics.set(metric, labels, value);
      sender.measured();
    },
    observe: (metric, labels, value) => {
      metrics.observe(metric, labels, value);
      sender.measured();
    },
  };
}
