/** Reads one result: all pages that one configured request leads to. */
import type { JsonValue } from '../../../lib/text/json.ts';
import { jsonBody, OTHER_FORMAT } from '../../_http/body.ts';
import type { HttpAnswer } from '../../_http/client.ts';
import { compilePath, type PathReader } from '../../_http/json-path.ts';
import { readSingleAnswer } from './single-answer.ts';
import type { Chunk } from './single-answer.ts';
import { runJob } from './job.ts';
import { createPager, type PageAnswer } from '../pagination/pagination.ts';
import { comparePositions } from '../../_http/positions.ts';
import { overlaid, type BaseRequest, type Overlay } from '../request/request-parts.ts';
import type { RestSetup } from '../request/setup.ts';
import { noteFailure } from './told-failure.ts';
import { tolerating } from './tolerate.ts';

/** What a run collects over all its results. */
export class RunNotes {
  /** Whether `max_pages` cut off a result. */
  cut = false;
  /** The position that the API itself gives (`advance_from`). */
  advanced: JsonValue | undefined;
  readonly #read: PathReader | undefined;

  constructor(advanceFrom: string | undefined) {
    this.#read = advanceFrom === undefined ? undefined : compilePath(advanceFrom);
  }

  /** The smallest position of several results, so that no record of any is skipped. */
  note(lastBody: JsonValue): void {
    const [found] = this.#read?.(lastBody) ?? [];
    if (found === undefined || found === null) return;
    if (this.advanced === undefined || (comparePositions(found, this.advanced) ?? -1) < 0)
      this.advanced = found;
  }
}

export interface ResultRequest {
  readonly base: BaseRequest;
  /** Bookmark or window bounds. */
  readonly bound: Overlay;
  /** A page cursor kept by an earlier run. */
  readonly resume?: JsonValue | undefined;
}

export async function* readResult(
  setup: RestSetup,
  request: ResultRequest,
  notes: RunNotes,
): AsyncGenerator<Chunk> {
  const { config } = setup;
  if (config.async_job !== undefined) {
    const wanted = await tolerating(setup, () =>
      runJob(setup, overlaid(request.base, [request.bound])),
    );
    if (wanted !== undefined) yield* readSingleAnswer(setup, wanted);
  } else if (config.decode !== undefined || config.response_format !== 'json') {
    yield* readSingleAnswer(setup, overlaid(request.base, [request.bound]));
  } else {
    yield* readPages(setup, request, notes);
  }
}

async function* readPages(
  setup: RestSetup,
  request: ResultRequest,
  notes: RunNotes,
): AsyncGenerator<Chunk> {
  const { config, shape, client, context, extract } = setup;
  const pager = createPager(shape.pagination, request.resume);
  let step: Overlay | undefined = pager.first;
  for (let page = 0; step !== undefined; page += 1) {
    if (config.max_pages !== undefined && page >= config.max_pages) {
      notes.cut = true;
      context.env.log.info('max_pages is reached; the rest is left unread', {
        max_pages: config.max_pages,
      });
      return;
    }
    if (page > 0 && config.request_delay !== undefined)
      await context.env.clock.sleep(config.request_delay * 1000, context.signal);
    const wanted = overlaid(request.base, [request.bound, step]);
    const send = (): Promise<Answered> =>
      client.read(wanted, (answer) => ({ answer, body: bodyOf(answer, wanted.method) }));
    const answered = page === 0 ? await tolerating(setup, send) : await send();
    if (answered === undefined) return;
    const { answer } = answered;
    const read = pageOf(answered, extract);
    if (pager.repeats?.(read) === true) break;
    noteFailure(setup, read, { where: answer.shownUrl, isNamed: page > 0 && pager.isNamed });
    step = pager.next(read);
    if (step === undefined) notes.note(read.body);
    yield {
      records: read.records,
      bytes: answer.bytes.length,
      cursor: config.persist_cursor ? pager.cursor?.() : undefined,
    };
  }
  const total = pager.shortOf?.();
  if (total === undefined) return;
  context.env.log.warn('fewer records came than the service says there are', { total_path: total });
}

interface Answered {
  readonly answer: HttpAnswer;
  /** Null where there is no content. */
  readonly body: JsonValue;
}

function bodyOf({ bytes, shownUrl }: HttpAnswer, method: string): JsonValue {
  if (bytes.length === 0) return null;
  return jsonBody(bytes, `the answer of ${method} ${shownUrl}`, OTHER_FORMAT);
}

function pageOf({ answer, body }: Answered, extract: RestSetup['extract']): PageAnswer {
  const { headers, bytes, url } = answer;
  return { body, records: bytes.length === 0 ? [] : extract(body), headers, bytes, url };
}
