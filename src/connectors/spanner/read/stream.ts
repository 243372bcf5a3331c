/** The rows of a result, as they come: no faster than they are taken. */
import { ConnectorError } from '../../../lib/errors.ts';
import { backoffMs, type BackoffPolicy } from '../../../lib/time/backoff.ts';
import { GoogleError } from '../../_google/errors.ts';
import { GRPC_STATUS } from '../../_grpc/status.ts';
import {
  EXECUTE_STREAMING_SQL,
  type PartialResult,
  type Selector,
  type StructField,
} from '../api.ts';
import type { Cell } from '../cells.ts';
import { about, isLostSession, type SpannerLink } from '../link.ts';
import type { Query } from '../statement.ts';

/** Spanner may work for long before the first rows, and tells nothing meanwhile. */
const SILENCE_MS = 1_800_000;
const MOST_RESUMED = 5;
const AGAIN: BackoffPolicy = { backoff: 'exponential', baseMs: 100, maxMs: 5000, jitter: true };
/** Parts that are kept back until the server tells where it can go on. */
const MOST_HELD = 8;

export interface RowsOfResult {
  readonly fields: readonly StructField[];
  readonly rows: readonly (readonly Cell[])[];
}

/** The first part has the fields, also where there are no rows. */
export async function* resultRows(
  link: SpannerLink,
  query: Query,
  transaction: Selector,
): AsyncGenerator<RowsOfResult, void> {
  const rows = new Rows();
  for await (const part of partsOf(link, query, transaction)) {
    const done = rows.add(part);
    const { fields } = rows;
    if (fields !== undefined && (done.length > 0 || part.metadata !== undefined))
      yield { fields, rows: done };
  }
  rows.end();
}

/** Each once, however often the connection breaks. */
async function* partsOf(
  link: SpannerLink,
  query: Query,
  transaction: Selector,
): AsyncGenerator<PartialResult, void> {
  const { env, signal } = link.context;
  const { sql, params = {}, types = {} } = query;
  let token: Uint8Array | undefined;
  let canResume = true;
  let held: PartialResult[] = [];
  let heardAt = env.clock.elapsedMs();
  for (let attempt = 0; ; attempt += 1) {
    const session = await link.session();
    const request = { session, transaction, sql, params, param_types: types, resume_token: token };
    // However often it is tried again.
    const silenceMs = Math.max(1, heardAt + SILENCE_MS - env.clock.elapsedMs());
    const call = { doing: 'the query failed', about: about(session), silenceMs };
    try {
      for await (const part of link.service.stream(EXECUTE_STREAMING_SQL, request, call)) {
        held.push(part);
        const isPlace = part.resume_token.length > 0;
        heardAt = env.clock.elapsedMs();
        if (!isPlace && held.length < MOST_HELD) continue;
        canResume = isPlace;
        if (isPlace) [token, attempt] = [part.resume_token, 0];
        const ready = held;
        held = [];
        yield* ready;
        // Whoever takes them may take long.
        heardAt = env.clock.elapsedMs();
      }
      yield* held;
      return;
    } catch (error) {
      const isFirst = token === undefined && canResume;
      if (isFirst && isLostSession(error) && attempt === 0) link.forgetSession();
      else if (!canResume || !isUnavailable(error) || attempt >= MOST_RESUMED) throw error;
      // What was not given on comes again.
      held = [];
      await env.clock.sleep(backoffMs(AGAIN, attempt), signal);
      signal.throwIfAborted();
    }
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof GoogleError && error.grpcStatus === GRPC_STATUS.unavailable;
}

/** Makes rows of values that come in parts, of which the last one may be cut. */
export class Rows {
  fields: readonly StructField[] | undefined;
  #row: Cell[] = [];
  #begun: Cell | undefined;

  /** The rows that are whole now. */
  add({ metadata, values, chunked_value: isCut }: PartialResult): readonly (readonly Cell[])[] {
    this.fields ??= metadata?.row_type?.fields;
    const width = this.fields?.length ?? 0;
    const done: (readonly Cell[])[] = [];
    for (const [at, value] of values.entries()) {
      const whole: Cell = this.#begun === undefined ? value : joined(this.#begun, value);
      this.#begun = undefined;
      if (isCut && at === values.length - 1) {
        this.#begun = whole;
        break;
      }
      this.#row.push(whole);
      if (this.#row.length < width) continue;
      done.push(this.#row);
      this.#row = [];
    }
    return done;
  }

  end(): void {
    if (this.#row.length === 0 && this.#begun === undefined) return;
    throw new ConnectorError('connection', 'the result ended in the middle of a row');
  }
}

/** Texts are parts of one text; of two lists the ends are parts of one item where they can be cut. */
function joined(before: Cell, after: Cell): Cell {
  if (typeof before === 'string' && typeof after === 'string') return before + after;
  if (!Array.isArray(before) || !Array.isArray(after))
    throw new ConnectorError('data', 'a value of the result came in parts that do not fit');
  const [last, first] = [before.at(-1) as Cell | undefined, after[0] as Cell | undefined];
  if (last === undefined || first === undefined || !canBeCut(last, first))
    return [...before, ...after] as Cell[];
  return [...before.slice(0, -1), joined(last, first), ...after.slice(1)] as Cell[];
}

function canBeCut(last: Cell, first: Cell): boolean {
  return (
    (typeof last === 'string' && typeof first === 'string') ||
    (Array.isArray(last) && Array.isArray(first))
  );
}
