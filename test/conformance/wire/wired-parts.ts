/** What suites of broken wires know of every part of this build that speaks with a server. */
import assert from 'node:assert/strict';
import { SourceSubject } from '../../../src/conformance/source/subject.ts';
import { check } from '../../../src/kit/schema.ts';
import { RECORDS_LANE } from '../../../src/kit/page.ts';
import type { SinkFixture } from '../../../src/kit/sink-fixture.ts';
import type { SinkDefinition } from '../../../src/kit/sink.ts';
import type { SourceFixture } from '../../../src/kit/source-fixture.ts';
import type { SourceDefinition } from '../../../src/kit/source.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import {
  canonicalJson,
  isObject,
  type JsonObject,
  type JsonValue,
} from '../../../src/lib/text/json.ts';
import { sinkFixtures } from '../fixtures/fixtures-of.ts';

/** What reconnecting may take, with the waits that sources make. */
const LATE_MS = 40_000;

/** Parts that speak with no server themselves, each with the reason. */
export const NO_WIRE: Readonly<Record<string, string>> = {
  airbyte: 'a process, with which it has pipes',
  singer: 'a process, with which it has pipes',
  stdout: 'its own output',
  webhook: 'others come to it',
};

/** Stubs of servers that keep what was cut off on its way, each with the reason. */
export const NO_REDELIVERY: Readonly<Record<string, string>> = {
  pubsub: 'its time for answers never ends by itself',
};

/** What else the config of a part needs to go by a wire. */
const ALTERED: Readonly<Record<string, JsonObject>> = {
  // The key of the server is known with its port.
  'sink sftp': { known_hosts: 'insecure' },
  'source sftp': { known_hosts: 'insecure' },
  // A message whose delivery was cut off is hidden for so long.
  'source sqs': { visibility_timeout_secs: 10 },
};

export function alteredFor(kind: 'source' | 'sink', type: string): JsonObject {
  return ALTERED[`${kind} ${type}`] ?? {};
}

export function expectClear(
  error: string,
  fixture: { readonly secret?: string },
  when: string,
): void {
  assert.match(error, /\w+ \w+/, `${when} the error says nothing`);
  assert.doesNotMatch(
    error,
    /undefined|\[object|internal error/i,
    `${when} the error is not clear`,
  );
  if (fixture.secret !== undefined)
    assert.ok(!error.includes(fixture.secret), `${when} the error has a secret`);
}

/** The first fixture of each type that needs a server. */
export function withServer<
  D extends { readonly type: string },
  F extends { start?(): Promise<void> },
>(all: readonly (readonly [D, F])[]): (readonly [string, D, F])[] {
  const first = new Map<string, readonly [D, F]>();
  for (const [definition, fixture] of all)
    if (fixture.start !== undefined && !first.has(definition.type))
      first.set(definition.type, [definition, fixture]);
  return [...first].map(([type, [definition, fixture]]) => [type, definition, fixture]);
}

/** As where sinks are killed: one for each way in which bytes become durable. */
export async function wiredSinks(): Promise<
  (readonly [title: string, SinkDefinition, SinkFixture])[]
> {
  const all = await sinkFixtures();
  return all
    .filter(([, one]) => one.start !== undefined && one.crashesLike === undefined)
    .map(([definition, fixture]) => {
      const name = fixture.name === undefined ? '' : ` (${fixture.name})`;
      return [`${definition.type}${name}`, definition, fixture] as const;
    });
}

export const bounded = (definition: SourceDefinition, config: JsonObject): boolean => {
  const checked = check(definition.config, config);
  return checked.ok && definition.capabilities(checked.value).unbounded === undefined;
};

/** Reads with one connector after the other until all records came; each goes on where the last failed. */
export async function readAll(
  definition: SourceDefinition,
  fixture: SourceFixture,
  config: JsonObject,
): Promise<{ readonly seen: readonly JsonValue[]; readonly errors: readonly string[] }> {
  const subject = (await SourceSubject.of(definition, fixture)).with(config);
  const [seen, errors]: [JsonValue[], string[]] = [[], []];
  const missing = (): boolean => new Set(seen.map(keyOf)).size < fixture.records.length;
  const until = performance.now() + LATE_MS;
  let bookmark: JsonValue | undefined;
  while (missing() && performance.now() < until) {
    const stop = new AbortController();
    const late = setTimeout(() => stop.abort(new Error('late')), until - performance.now());
    try {
      const source = await subject.open({ config, signal: stop.signal, batchSize: 4 });
      try {
        const request = { lane: RECORDS_LANE, ...(bookmark === undefined ? {} : { bookmark }) };
        for await (const page of source.pages(request)) {
          seen.push(...structuredClone([...page.records()]));
          if (page.bookmark !== undefined) {
            bookmark = page.bookmark;
            await source.acknowledge?.(bookmark);
          }
          if (!missing()) stop.abort(new Error('seen enough'));
        }
      } finally {
        await source.close();
      }
    } catch (error) {
      if (!stop.signal.aborted) errors.push(messageOf(error));
    } finally {
      clearTimeout(late);
    }
  }
  return { seen, errors };
}

/** Of a change what was done: positions and names differ from table to table. */
export function keyOf(record: JsonValue): string {
  if (!isObject(record) || record['op'] === undefined) return canonicalJson(record);
  const { op, before = null, after = null, document_key: key = null } = record;
  return canonicalJson({ op, before, after, key });
}
