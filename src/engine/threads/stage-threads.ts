/** Threads that work on pages of one row, as the row sees them. */
import { Worker } from 'node:worker_threads';
import { readRecord } from '../../kit/column-records.ts';
import { packColumns, unpackColumns } from '../../kit/column-batch.ts';
import type { Columns } from '../../kit/columns.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { onlyOrder } from '../../kit/record-schema.ts';
import type { DeadRecord } from '../stages/stage.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { unpackJson } from '../../lib/text/packed-json.ts';
import { Page } from '../../kit/page.ts';
import { RunError } from '../../lib/errors.ts';
import { measurementsInto, type Measurements } from '../../lib/metrics/metric-relay.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { programFile } from '../../lib/files/program-file.ts';
import type { PageSchemaChange } from '../stages/page-schema.ts';
import type { WorkedPage } from '../stages/page-work.ts';
import type {
  FromThread,
  PageAnswer,
  PageContent,
  ThreadPage,
  ThreadSetup,
  ToThread,
} from './messages.ts';
import { SpareMemory } from './spare-memory.ts';
import { failureOf } from './failure-message.ts';

/** So many pages may be with a thread, on their way to it and on their way back. */
const PAGES_A_THREAD = 8;
/**
 * While so many messages are with a thread, pages gather for the next: a message costs as much as
 * the work on a few hundred records.
 */
const MESSAGES_A_THREAD = 2;

export interface StageThreadsOptions {
  readonly setup: ThreadSetup;
  readonly count: number;
  readonly metrics: Metrics;
  /** What the stages make of the schema of a page; threads know of none. */
  readonly schemaAfter: PageSchemaChange;
}

/** Starts all threads at once; until the first is ready the caller works by itself. */
export class StageThreads {
  readonly #threads: readonly StageThread[];

  constructor({ setup, count, metrics, schemaAfter }: StageThreadsOptions) {
    const spare = new SpareMemory(count * PAGES_A_THREAD);
    const spareCopies = new SpareMemory(count * PAGES_A_THREAD);
    const measured = measurementsInto(metrics);
    this.#threads = Array.from(
      { length: count },
      () => new StageThread(setup, { spare, spareCopies, measured, schemaAfter }),
    );
  }

  /** Pages that can be worked on at a time; 0 until a thread is ready. */
  get width(): number {
    return this.#ready.length * PAGES_A_THREAD;
  }

  /** Why one of them has ended before its time. */
  get fault(): string | undefined {
    return this.#threads.find(({ fault }) => fault !== undefined)?.fault;
  }

  /** Resolves when all can take pages, or have ended without. */
  async started(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.started));
  }

  /**
   * For pages of columns, at most `width` at a time. The page may be reused when this returns.
   * Never rejects.
   */
  work(page: Page): Promise<WorkedPage> {
    const [first, ...others] = this.#ready;
    if (first === undefined) throw new Error('cannot happen: no thread is ready');
    return others
      .reduce((least, thread) => (thread.pending < least.pending ? thread : least), first)
      .work(page);
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  get #ready(): readonly StageThread[] {
    return this.#threads.filter(({ ready }) => ready);
  }
}

/** A page that is with a thread. */
interface Pending {
  readonly read: Pick<Page, 'bytes' | 'bookmark' | 'count' | 'schema'>;
  readonly copy: ReadingCopy | undefined;
  readonly settle: (worked: WorkedPage) => void;
}

interface Surroundings {
  readonly spare: SpareMemory;
  /** For pages as they were read, which need no room for new cells. */
  readonly spareCopies: SpareMemory;
  readonly measured: (measured: Measurements) => void;
  readonly schemaAfter: PageSchemaChange;
}

class StageThread {
  ready = false;
  /** Why it has ended before its time. */
  fault: string | undefined;
  /** Resolves when it is ready, or has ended without. */
  readonly started: Promise<void>;
  readonly #worker: Worker;
  readonly #surroundings: Surroundings;
  /** Whether pages are kept as they were read, for dead letters. */
  readonly #keepsRead: boolean;
  readonly #gone: Promise<void>;
  /** In the order in which they are answered. */
  readonly #pending: Pending[] = [];
  /** Those that are not sent yet. */
  #gathered: ThreadPage[] = [];
  #messages = 0;
  #closing = false;

  constructor(setup: ThreadSetup, surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#keepsRead = setup.tracks && setup.transforms.length > 0;
    this.#worker = new Worker(programFile('stage-thread'), { workerData: setup, name: 'stages' });
    this.#worker.on('message', (message: FromThread) => this.#hear(message));
    this.#worker.on(
      'error',
      (error) => (this.fault = error instanceof Error ? error.message : String(error)),
    );
    this.#gone = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#end();
        resolve();
      });
    });
    this.started = Promise.race([
      new Promise<void>((resolve) => this.#worker.once('message', () => resolve())),
      this.#gone,
    ]);
    // A row that has ended or failed does not wait for its threads.
    this.#worker.unref();
  }

  get pending(): number {
    return this.#pending.length;
  }

  work(page: Page): Promise<WorkedPage> {
    const { columns, bytes, bookmark, count } = page;
    const schema = this.#surroundings.schemaAfter(page.schema);
    if (columns === undefined) throw new Error('cannot happen: threads are given columns');
    const packed = packColumns(columns, (size) => this.#surroundings.spare.take(size));
    this.#gathered.push({ columns: packed, order: onlyOrder(schema) });
    const copy = this.#keepsRead ? readingCopy(columns, this.#surroundings.spareCopies) : undefined;
    page.release();
    return new Promise((settle) => {
      this.#pending.push({ read: { bytes, bookmark, count, schema }, copy, settle });
      if (this.#messages < MESSAGES_A_THREAD) this.#send();
    });
  }

  /** Idle, it ends by itself; one that is still at work is ended. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.ready && this.#pending.length === 0) this.#say({ type: 'exit' }, []);
    else await this.#worker.terminate();
    this.#worker.ref();
    await this.#gone;
  }

  #send(): void {
    const pages = this.#gathered;
    this.#gathered = [];
    this.#messages += 1;
    // What is waited for keeps the process.
    this.#worker.ref();
    this.#say(
      { type: 'pages', pages },
      pages.map(({ columns: { memory } }) => memory),
    );
  }

  #say(message: ToThread, memory: readonly ArrayBuffer[]): void {
    this.#worker.postMessage(message, memory);
  }

  #hear(message: FromThread): void {
    if (message.type === 'ready') {
      this.ready = true;
      return;
    }
    this.#messages -= 1;
    if (this.#gathered.length > 0) this.#send();
    if (this.#messages === 0) this.#worker.unref();
    for (const answer of message.answers) this.#settle(answer);
  }

  #settle({ content, payloads, failure, measured, spare, ...counts }: PageAnswer): void {
    if (spare !== undefined) this.#surroundings.spare.give(spare);
    const pending = this.#pending.shift();
    if (pending === undefined)
      throw new Error('cannot happen: a thread answers what it was not asked');
    const page = this.#pageOf(content, pending);
    const measure = (): void => this.#surroundings.measured(measured);
    pending.settle({
      ...counts,
      dead: unpackedDead(counts.dead, payloads),
      page,
      measure,
      ...(pending.copy === undefined ? {} : { recordAsRead: pending.copy.recordAt }),
      ...(failure === undefined ? {} : { failure: failureOf(failure) }),
    });
  }

  #pageOf(content: PageContent, { read, copy }: Pending): Page {
    const { spare } = this.#surroundings;
    const { bytes, bookmark, schema } = read;
    const options = bookmark === undefined ? { bytes, schema } : { bytes, bookmark, schema };
    const releasing = (memory: ArrayBuffer) => (): void => {
      spare.give(memory);
      copy?.release();
    };
    switch (content.form) {
      case 'lines': {
        const { lines, count } = content;
        return Page.ofBlock(JSON_LINES, lines, count, {
          ...options,
          release: releasing(lines.buffer),
        });
      }
      case 'columns': {
        const { columns } = content;
        return Page.ofColumns(unpackColumns(columns), {
          ...options,
          release: releasing(columns.memory),
        });
      }
      case 'records':
        return Page.ofRecords(content.records, options);
      case 'packed':
        return Page.ofRecords(unpackJson(content.text), options);
      default:
        return content satisfies never;
    }
  }

  /** Pages that were with it are lost, and so is the run: the next one reads them again. */
  #end(): void {
    this.ready = false;
    const reason = this.#closing ? 'the row has ended' : (this.fault ?? 'it said nothing');
    const failure = new RunError(
      'Panic',
      'thread_ended',
      `a thread that worked on pages of the row has ended: ${reason}`,
      {
        hint: 'run it again; smaller pages (`batch_size`) need less memory, and `--threads 0` does without',
      },
    );
    for (const { read, settle } of this.#pending.splice(0)) {
      settle({
        page: Page.ofRecords([]),
        filtered: 0,
        expanded: 0,
        transformed: read.count,
        dead: [],
        failure,
      });
    }
  }
}

/** A page as it was read, valid until the page that was made of it is released. */
interface ReadingCopy {
  recordAt(this: void, place: number): JsonValue | undefined;
  release(this: void): void;
}

/** The thread gets the page itself. */
function readingCopy(columns: Columns, spare: SpareMemory): ReadingCopy {
  const batch = packColumns(columns, (size) => spare.take(size), 0);
  let copy: Columns | undefined = unpackColumns(batch);
  return {
    recordAt(place) {
      if (copy === undefined) throw new Error('cannot happen: the page was released');
      return place < copy.count ? readRecord(copy, place) : undefined;
    },
    release() {
      copy = undefined;
      spare.give(batch.memory);
    },
  };
}

function unpackedDead(
  dead: readonly DeadRecord[],
  payloads: string | undefined,
): readonly DeadRecord[] {
  if (payloads === undefined) return dead;
  const values = unpackJson(payloads);
  return dead.map((one, index) => ({ ...one, payload: values[index] ?? null }));
}
