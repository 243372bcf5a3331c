import type { JsonValue } from '../lib/text/json.ts';
import type { SourceContext } from '../kit/context.ts';
import { RECORDS_LANE } from '../kit/page.ts';
import type { PlannedSource } from '../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../plan/resolve.ts';
import { wrapConnectorError } from './failure.ts';

/** Asks a source for one record; `purpose` names it in failures. */
export async function firstRecord(
  part: PlannedSource,
  purpose: string,
  { context, tokens }: { readonly context: SourceContext; readonly tokens: RuntimeTokens },
): Promise<JsonValue | undefined> {
  const leave = new AbortController();
  try {
    const signal = AbortSignal.any([context.signal, leave.signal]);
    const source = await part.definition.open(resolvePart(part, tokens), { ...context, signal });
    try {
      for await (const page of source.pages({ lane: RECORDS_LANE, limit: 1 }))
        if (page.count > 0) return page.records()[0];
      return undefined;
    } finally {
      leave.abort();
      await source.close();
    }
  } catch (error) {
    throw wrapConnectorError('Source', `${part.type} (${purpose})`, error);
  }
}
