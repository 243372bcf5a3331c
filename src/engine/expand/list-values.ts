/** Reads the source of a fan-out row and keeps each value once, in the order found. */
import { RunError, StopReason } from '../../lib/errors.ts';
import { canonicalJson, type JsonValue } from '../../lib/text/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import { readerOf } from '../../kit/field-path.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { FanOutPlan } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { wrapConnectorError } from '../failure.ts';
import type { Tally } from '../row/tally.ts';
import { MAX_PRODUCT } from './tuples.ts';

/** Counts what it reads in `tally`. Returns early when the signal of the context fires. */
export async function listValues(
  row: FanOutPlan,
  {
    context,
    tokens,
    tally,
  }: { readonly context: SourceContext; readonly tokens: RuntimeTokens; readonly tally: Tally },
): Promise<readonly JsonValue[]> {
  const leave = new AbortController();
  const signal = AbortSignal.any([context.signal, leave.signal]);
  const valueOf = row.select.length === 0 ? (record: JsonValue) => record : readerOf(row.select);
  const values = new Map<string, JsonValue>();
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
        for (const record of page.records()) {
          const value = valueOf(record);
          if (value !== undefined && value !== null) values.set(canonicalJson(value), value);
        }
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

function tooMany({ id, alias }: FanOutPlan): RunError {
  const message = `the fan-out row \`${id}\` lists more than ${MAX_PRODUCT} different values of \`${alias}\``;
  return new RunError('Config', 'product_too_large', message, {
    hint: 'let its source give fewer records, or `select` something coarser',
  });
}
