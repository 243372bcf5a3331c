/**
 * The records that wait in the dead-letter queue of a row: they are missing at the destination, and
 * no difference.
 */
import { RECORDS_LANE } from '../../kit/page.ts';
import type { Parts } from '../../kit/parts.ts';
import { check } from '../../kit/schema.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import { messageOf } from '../../lib/errors.ts';
import { isObject, parseJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { connectorErrorOf } from '../failure.ts';
import type { RecordForms } from './normal-form.ts';
import { fingerprint } from './record-digest.ts';

/** Prints that are kept; of a queue with more, the rest counts as differences. */
const MOST_PRINTS = 1_000_000;

/** Counts each record that it knows. */
export class HeldBack {
  readonly #forms: RecordForms;
  readonly #prints = new Set<string>();
  readonly #found = new Set<string>();

  constructor(forms: RecordForms) {
    this.#forms = forms;
  }

  get count(): number {
    return this.#found.size;
  }

  get full(): boolean {
    return this.#prints.size >= MOST_PRINTS;
  }

  add(record: JsonObject): void {
    this.#prints.add(this.#printOf(record));
  }

  /** The very same record: one that has changed since was not held back. */
  has(record: JsonObject): boolean {
    if (this.#prints.size === 0) return false;
    const print = this.#printOf(record);
    if (!this.#prints.has(print)) return false;
    this.#found.add(print);
    return true;
  }

  #printOf(record: JsonObject): string {
    return fingerprint(`${this.#forms.key(record)}\n${this.#forms.text(record)}`);
  }
}

interface QueueOptions {
  readonly row: PlannedRow;
  readonly pipeline: string;
  readonly parts: Pick<Parts, 'sources'>;
  readonly tokens: RuntimeTokens;
  readonly context: SourceContext;
  readonly forms: RecordForms;
}

/** A queue that cannot be read back holds nothing that is known here. */
export async function heldBackOf(options: QueueOptions): Promise<HeldBack> {
  const { context, forms, row } = options;
  const held = new HeldBack(forms);
  try {
    for await (const record of payloads(options)) {
      held.add(record);
      if (held.full) break;
    }
  } catch (error) {
    context.signal.throwIfAborted();
    if (connectorErrorOf(error)?.kind !== 'missing')
      context.env.log.warn(
        'the dead-letter queue cannot be read: records that wait in it count as differences',
        { row: row.id, error: messageOf(error) },
      );
  }
  return held;
}

async function* payloads({
  row,
  pipeline,
  parts,
  tokens,
  context,
}: QueueOptions): AsyncGenerator<JsonObject> {
  if (row.dlq === undefined) return;
  const { sink } = row.dlq;
  const readBack = sink.definition.readBack?.(resolvePart(sink, tokens));
  const definition: SourceDefinition | undefined =
    readBack === undefined ? undefined : parts.sources.get(readBack.type);
  if (readBack === undefined || definition === undefined) return;
  const checked = check(definition.config, readBack.config);
  if (!checked.ok) return;
  const source = await definition.open(checked.value, context);
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      context.signal.throwIfAborted();
      for (const envelope of page.records()) {
        if (!isObject(envelope) || envelope['row'] !== row.id || envelope['pipeline'] !== pipeline)
          continue;
        const payload = payloadOf(envelope['payload'] ?? null);
        if (isObject(payload)) yield payload;
      }
    }
  } finally {
    await source.close();
  }
}

/** Tables hold it as text. */
function payloadOf(payload: JsonValue): JsonValue {
  if (typeof payload !== 'string') return payload;
  try {
    return parseJson(payload);
  } catch {
    return payload;
  }
}
