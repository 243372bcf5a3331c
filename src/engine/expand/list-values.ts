/** Reads the source of a fan-out row and keeps each value once, in the order found. */
import { RunError, StopReason } from '../../lib/errors.ts';
import { withStoredTexts } from '../../lib/sql/sqlite-values.ts';
import { canonicalJson, type JsonValue } from '../../lib/text/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import { readerOf } from '../../kit/field-path.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { FanOutPlan } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { wrapConnectorError } from '../failure.ts';
import type { Tally } from '../row/tally.ts';
import { MAX_PRODUCT } from './tuples.ts';

export interface ListOptions {
  readonly context: SourceContext;
  readonly tokens: RuntimeTokens;
  readonly tally: Tally;
  /** Hides what the rows that run for the values must not see. */
  readonly mask?: ((record: JsonValue) => JsonValue) | undefined;
}

/** Counts what it reads in `tally`. Returns early when the signal of the context fires. */
export async function listValues(
  row: FanOutPlan,
  { context, tokens, tally, mask }: ListOptions,
): Promise<readonly JsonValue[]> {
  const leave = new AbortController();
  const signal = AbortSignal.any([context.signal, leave.signal]);
  const select = row.select.length === 0 ? (record: JsonValue) => record : readerOf(row.select);
  const valueOf = (record: JsonValue): JsonValue | undefined => select(withStoredTexts(record));
  const values = new Map<string, JsonValue>();
  const sources = new Map<string, string>();
  const keep = (record: JsonValue): void => {
    const value = valueOf(mask === undefined ? record : mask(record));
    if (value === undefined || value === null) return;
    const name = canonicalJson(value);
    if (mask !== undefined)
      assertDistinct(row, sources, name, canonicalJson(valueOf(record) ?? null));
    values.set(name, value);
  };
  try {
    const source = await row.source.definition.open(resolvePart(row.source, tokens), {
      ...context,
      signal,
    });
    try {
      for await (const page of source.pages({ lane: RECORDS_LANE })) {
        tally.pages += 1;
        tally.read += page.count;
        tally.bytes += page.bytes;
        for (const record of page.records()) keep(record);
        if (values.size > MAX_PRODUCT) throw tooMany(row);
        if (context.signal.aborted) break;
      }
    } finally {
      leave.abort(new StopReason('cancel', 'no more values are wanted'));
      await source.close();
    }
  } catch (error) {
    throw wrapConnectorError('Source', row.source.type, error);
  }
  return [...values.values()];
}

/** Rows would run once for several values that masking has made the same. */
// oxlint-disable-next-line max-params
function assertDistinct(
  { id, alias }: FanOutPlan,
  sources: Map<string, string>,
  masked: string,
  raw: string,
): void {
  const known = sources.get(masked);
  if (known === undefined) sources.set(masked, raw);
  else if (known !== raw) {
    const message = `masking makes different values of \`${alias}\` equal, which the fan-out row \`${id}\` lists: rows would run once for all of them`;
    throw new RunError('Config', 'masked_values_collide', message, {
      hint: 'mask it with `hash` or `tokenize`, list another field, or use `applies_to` to leave out the sinks of the rows that run for it',
    });
  }
}

function tooMany({ id, alias }: FanOutPlan): RunError {
  const message = `the fan-out row \`${id}\` lists more than ${MAX_PRODUCT} different values of \`${alias}\``;
  return new RunError('Config', 'product_too_large', message, {
    hint: 'let its source give fewer records, or `select` something coarser',
  });
}
