/** The worker thread of a row: compiles its transforms and stages again and runs them on pages. */
import { isMarkedAsUntransferable, type MessagePort } from 'node:worker_threads';
import { packColumns, unpackColumns } from '../../kit/column-batch.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { TransformDefinition } from '../../kit/transform.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { Env } from '../../lib/env.ts';
import { restrictFiles } from '../../lib/files/file-access.ts';
import { uuidIds } from '../../lib/ids.ts';
import { createLog } from '../../lib/log.ts';
import { createMetricRelay, type MetricRelay } from '../../lib/metrics/metric-relay.ts';
import { Redactor } from '../../lib/redact.ts';
import { needsPacking, packJson } from '../../lib/text/packed-json.ts';
import { pageWork, type PageWork } from '../stages/page-work.ts';
import { compileTransforms } from '../stages/compile-transforms.ts';
import type { DeadRecord } from '../stages/stage.ts';
import { stagesOf } from '../stages/stages.ts';
import type {
  FromThread,
  PageAnswer,
  PageContent,
  PagesRequest,
  ThreadPage,
  ThreadSetup,
  ToThread,
} from './messages.ts';
import { failureMessageOf } from './failure-message.ts';

/** Call once, in a thread of its own. */
export async function serveStages(
  port: MessagePort,
  setup: ThreadSetup,
  transforms: readonly TransformDefinition[],
): Promise<void> {
  restrictFiles(setup.files);
  const relay = createMetricRelay();
  const work = await compileWork(setup, transforms, threadEnv(relay));
  const handler = new PageHandler({ work, relay, asLines: setup.asLines });
  const answer = async ({ pages }: PagesRequest): Promise<void> => {
    const answers: PageAnswer[] = [];
    for (const page of pages) answers.push(await handler.answer(page));
    const memory = answers
      .flatMap(({ content, spare }) => [memoryOf(content), spare])
      .filter((block) => block !== undefined);
    port.postMessage({ type: 'pages', answers } satisfies FromThread, memory);
  };
  let last = Promise.resolve();
  port.on('message', (message: ToThread) => {
    // What it has compiled is kept for the next thread only when it ends like a program.
    if (message.type === 'exit') process.exit(0);
    last = last.then(() => answer(message));
  });
  port.postMessage({ type: 'ready' } satisfies FromThread);
}

/**
 * The row itself has logged what there was to say when its parts were compiled; what works page by
 * page logs nothing.
 */
function threadEnv({ metrics }: MetricRelay): Env {
  const redactor = new Redactor();
  return {
    clock: systemClock,
    ids: uuidIds,
    log: createLog({
      level: 'error',
      target: 'headgate',
      clock: systemClock,
      redactor,
      write: () => {},
    }),
    metrics,
    redactor,
    // Asked for, it would be loaded.
    fetch: (...request) => globalThis.fetch(...request),
    variables: process.env,
    cwd: process.cwd(),
  };
}

async function compileWork(
  setup: ThreadSetup,
  definitions: readonly TransformDefinition[],
  env: Env,
): Promise<PageWork> {
  const transforms = setup.transforms.map(({ type, config, path }) => {
    const definition = definitions.find((one) => one.type === type);
    if (definition === undefined) throw new Error(`cannot happen: there is no transform ${type}`);
    return { type, definition, config: definition.config.parse(config), path };
  });
  return pageWork({
    env,
    labels: { pipeline: setup.pipeline, row: setup.row },
    transforms: await compileTransforms(transforms, env),
    stages: stagesOf({ ...setup, env }, { ...setup.governance, schema: undefined }),
    kill: new AbortController().signal,
    tracks: setup.tracks,
  });
}

interface PageHandlerOptions {
  readonly work: PageWork;
  readonly relay: MetricRelay;
  readonly asLines: boolean;
}

class PageHandler {
  readonly #options: PageHandlerOptions;

  constructor(options: PageHandlerOptions) {
    this.#options = options;
  }

  async answer({ columns: batch, order }: ThreadPage): Promise<PageAnswer> {
    const { work, relay } = this.#options;
    const { page, failure, filtered, expanded, transformed, dead, breaches, origins } = await work(
      Page.ofColumns(unpackColumns(batch)),
    );
    const content: PageContent =
      failure === undefined ? this.#contentOf(page, order) : { form: 'records', records: [] };
    return {
      filtered,
      expanded,
      transformed,
      ...packedDead(dead),
      content,
      measured: relay.take(),
      ...(breaches === undefined ? {} : { breaches }),
      ...(origins === undefined ? {} : { origins }),
      ...(failure === undefined ? {} : { failure: failureMessageOf(failure) }),
      ...(memoryOf(content) === batch.memory ? {} : { spare: batch.memory }),
    };
  }

  #contentOf(page: Page, order: RecordSchema | undefined): PageContent {
    if (this.#options.asLines) {
      const lines = ownMemory(page.withSchema(order).block(JSON_LINES));
      return { form: 'lines', lines, count: page.count };
    }
    if (page.columns !== undefined) return { form: 'columns', columns: packColumns(page.columns) };
    const records = page.records();
    return needsPacking(records)
      ? { form: 'packed', text: packJson(records) }
      : { form: 'records', records };
  }
}

function packedDead(dead: readonly DeadRecord[]): Pick<PageAnswer, 'dead' | 'payloads'> {
  const payloads = dead.map(({ payload }) => payload);
  if (!needsPacking(payloads)) return { dead };
  return { dead: dead.map((one) => ({ ...one, payload: null })), payloads: packJson(payloads) };
}

/** What lies in memory that is shared with others cannot be handed over. */
function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && !isMarkedAsUntransferable(buffer)
    ? (bytes as Uint8Array<ArrayBuffer>)
    : new Uint8Array(bytes);
}

function memoryOf(content: PageContent): ArrayBuffer | undefined {
  switch (content.form) {
    case 'lines':
      return content.lines.buffer;
    case 'columns':
      return content.columns.memory;
    case 'packed':
    case 'records':
      return undefined;
    default:
      return content satisfies never;
  }
}
