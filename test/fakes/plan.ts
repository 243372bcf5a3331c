/**
 * Hand-made plans over recording doubles, for tests of the engine: no document, no connector of the
 * product.
 */
import type { Resilience } from '../../src/blocks/resilience/schema.ts';
import { z } from 'zod';
import { ConnectorError, RecordError } from '../../src/lib/errors.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { Page, RECORDS_LANE } from '../../src/kit/page.ts';
import type { RejectedRecord } from '../../src/kit/rejected-record.ts';
import {
  APPEND_ONLY,
  defineSink,
  type SinkCapabilities,
  type SinkDefinition,
} from '../../src/kit/sink.ts';
import { defineSource, type SourceDefinition } from '../../src/kit/source.ts';
import { defineStateStore, isBelow, sortedEntries } from '../../src/kit/state-store.ts';
import { createParts } from '../../src/kit/parts.ts';
import type { DlqPlan } from '../../src/blocks/dlq/plan.ts';
import type { PlannedPart, Plan, PlannedRow } from '../../src/plan/plan.ts';

/**
 * Everything the doubles were asked to do, in order: `write 3`, `flush`, `put 7`, `ack 7`, `finish
 * success`, `close`.
 */
export type Trace = string[];

export const noParts = createParts({
  sources: [],
  sinks: [],
  transforms: [],
  states: [],
  credentials: [],
  secrets: [],
});

export interface FakePage {
  readonly records: readonly JsonValue[];
  readonly bookmark?: JsonValue;
  /** Given only to a caller that takes them. */
  readonly rejected?: readonly RejectedRecord[];
}

export function fakeSource(
  pages: readonly FakePage[],
  options: {
    trace?: Trace;
    failAfter?: Error;
    beforePage?: (index: number) => void | Promise<void>;
    positional?: boolean;
  } = {},
): SourceDefinition {
  return defineSource({
    type: 'fake',
    description: 'pages from memory',
    config: z.any(),
    examples: [],
    capabilities: () => ({
      replay: options.positional === true ? 'positional' : 'none',
      bookmarks: true,
      encodings: [],
    }),
    datasetUri: () => 'fake://source',
    open: () =>
      Promise.resolve({
        async *pages(request) {
          options.trace?.push(`read from ${JSON.stringify(request.bookmark ?? null)}`);
          const { bookmark } = request;
          const start =
            options.positional === true && bookmark !== undefined
              ? pages.findIndex((page) => page.bookmark === bookmark) + 1
              : 0;
          for (const [index, page] of pages.slice(start).entries()) {
            await options.beforePage?.(index);
            yield Page.ofRecords(structuredClone(page.records), {
              ...(page.bookmark === undefined ? {} : { bookmark: page.bookmark }),
              ...(request.rejects === true ? { rejected: page.rejected ?? [] } : {}),
            });
          }
          if (options.failAfter !== undefined) throw options.failAfter;
        },
        acknowledge: (bookmark) => {
          options.trace?.push(`ack ${JSON.stringify(bookmark)}`);
          return Promise.resolve();
        },
        close: () => {
          options.trace?.push('close source');
          return Promise.resolve();
        },
      }),
  });
}

export interface FakeSink {
  readonly definition: SinkDefinition;
  readonly records: JsonValue[];
}

export interface FakeSinkOptions {
  readonly trace?: Trace;
  readonly name?: string;
  readonly capabilities?: Partial<SinkCapabilities>;
  /** Throws for a page, or rejects nothing. */
  readonly onWrite?: (records: readonly JsonValue[], call: number) => void;
  /** Records for which this gives a sentence are rejected one by one. */
  readonly reject?: (record: JsonValue, call: number) => string | RecordError | undefined;
}

export function fakeSink(options: FakeSinkOptions = {}): FakeSink {
  const records: JsonValue[] = [];
  const name = options.name ?? '';
  const tell = (what: string): void =>
    void options.trace?.push(name === '' ? what : `${name} ${what}`);
  let calls = 0;
  const definition = defineSink({
    type: `fake${name}`,
    description: 'records into memory',
    config: z.any(),
    examples: [],
    capabilities: () => ({ ...APPEND_ONLY, ...options.capabilities }),
    datasetUri: () => 'fake://sink',
    open: () =>
      Promise.resolve({
        write(page) {
          tell(`write ${page.count}`);
          calls += 1;
          options.onWrite?.(page.records(), calls);
          const rejected = page.records().flatMap((record, index) => {
            const why = options.reject?.(record, calls);
            return why === undefined
              ? []
              : [{ index, error: typeof why === 'string' ? new RecordError('Sink', why) : why }];
          });
          const gone = new Set(rejected.map(({ index }) => index));
          records.push(...page.records().filter((_, index) => !gone.has(index)));
          return Promise.resolve({ written: page.count - rejected.length, rejected });
        },
        flush: () => {
          tell('flush');
          return Promise.resolve();
        },
        finish: (reason) => {
          tell(`finish ${reason}`);
          return Promise.resolve();
        },
        close: () => {
          tell('close');
          return Promise.resolve();
        },
      }),
  });
  return { definition, records };
}

export function fakeState(values: Map<string, JsonValue>, trace?: Trace) {
  return defineStateStore({
    type: 'fake',
    description: 'a map',
    config: z.any(),
    durable: true,
    examples: [],
    open: () =>
      Promise.resolve({
        get: (key) => Promise.resolve(values.get(key)),
        put: (key, value) => {
          trace?.push(`put ${JSON.stringify(value)}`);
          values.set(key, value);
          return Promise.resolve();
        },
        putHeld: (key, value) => {
          trace?.push(`put ${JSON.stringify(value)}`);
          values.set(key, value);
          return Promise.resolve(true);
        },
        delete: (key) => Promise.resolve(void values.delete(key)),
        deleteHeld: (key) => {
          values.delete(key);
          return Promise.resolve(true);
        },
        entries: (key) =>
          Promise.resolve(
            sortedEntries(
              [...values.keys()]
                .filter((stored) => isBelow(stored, key))
                .map((stored) => ({ key: stored })),
            ),
          ),
        lease: (_key, { token, ttlMs, holder }) =>
          Promise.resolve({ token, holder, remainingMs: ttlMs }),
        release: () => Promise.resolve(),
        close: () => Promise.resolve(),
      }),
  });
}

export function part<D extends { readonly type: string }>(
  definition: D,
  config: JsonObject = {},
): PlannedPart<D> {
  return {
    path: `test.${definition.type}`,
    type: definition.type,
    preset: 'default',
    definition,
    config,
    deferred: false,
    parsed: config,
  };
}

export function dlqPlan(
  sink: SinkDefinition,
  options: Partial<Omit<DlqPlan, 'sink'>> = {},
): DlqPlan {
  return {
    sink: part(sink),
    onBatchError: 'propagate',
    maxFailuresPerPage: undefined,
    maxFailuresTotal: undefined,
    ...options,
  };
}

/** What a row has of its blocks, by name; of `resilience` a part will do. */
type RowOverrides = Omit<Partial<PlannedRow>, 'blocks'> & {
  readonly blocks?: Readonly<Record<string, unknown>> & {
    readonly resilience?: Partial<Resilience>;
  };
};

function blocksOf({ resilience, ...others }: RowOverrides['blocks'] = {}): PlannedRow['blocks'] {
  const none = { retry: undefined, poison: undefined, breaker: undefined };
  const present = Object.entries(others).filter(([, planned]) => planned !== undefined);
  return {
    ...Object.fromEntries(present),
    ...(resilience === undefined ? {} : { resilience: { ...none, ...resilience } }),
  };
}

export function plannedRow(
  source: SourceDefinition,
  sink: SinkDefinition,
  { blocks, ...overrides }: RowOverrides = {},
): PlannedRow {
  const id = overrides.id ?? 'row-0';
  return {
    id,
    index: 0,
    role: overrides.parent === undefined ? 'root' : 'child',
    parent: undefined,
    dependsOn: [],
    forEach: [],
    collected: [],
    partition: undefined,
    source: part(source),
    sink: part(sink),
    transforms: [],
    state: undefined,
    dlq: undefined,
    delivery: 'at_least_once',
    guarantee: 'at-least-once',
    blocks: blocksOf(blocks),
    adaptiveBatch: undefined,
    metadataColumns: undefined,
    lane: { lane: RECORDS_LANE, reason: 'records: a test' },
    stateKey: `test::${id}`,
    weight: undefined,
    tags: [],
    status: 'active',
    ...overrides,
  };
}

export function planOf(rows: readonly PlannedRow[], overrides: Partial<Plan> = {}): Plan {
  return {
    name: 'test',
    blocks: {},
    rows: rows.map((row, index) => ({ ...row, index })),
    maxConcurrent: 4,
    onError: 'continue',
    schedule: 'declared',
    auth: {},
    warnings: [],
    unselected: [],
    fanOuts: [],
    unselectedFanOuts: [],
    selectionActive: false,
    ...overrides,
  };
}

export const connectionLost = (): ConnectorError =>
  new ConnectorError('connection', 'the connection was lost');
