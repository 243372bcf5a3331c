/** A sink with the config of one fixture, and ways to write with it and to look at what it wrote. */
import assert from 'node:assert/strict';
import type { SinkContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type {
  FinishReason,
  Sink,
  SinkCapabilities,
  SinkDefinition,
  WriteMode,
  WriteResult,
} from '../../kit/sink.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { sinkContext } from '../contexts.ts';
import type { Destination, SinkFixture } from '../../kit/sink-fixture.ts';
import { writeAndKill, type WriterStep } from './killed-writer.ts';
import type { SinkCase, SinkTools } from './tools.ts';

export const row = (id: number, v = `v${id}`): JsonObject => ({ id, v });
const byId = (one: JsonObject, other: JsonObject): number =>
  Number(one['id']) - Number(other['id']) ||
  jsonText(one['v'] ?? null).localeCompare(jsonText(other['v'] ?? null));

export class SinkSubject {
  readonly definition: SinkDefinition;
  readonly fixture: SinkFixture;
  readonly tools: SinkTools;
  /** Of a config as the fixture gives it. */
  readonly capabilities: SinkCapabilities;
  /** Of the same config as an upsert, where there is that mode. */
  readonly keyedCapabilities: SinkCapabilities | undefined;
  readonly overwritingCapabilities: SinkCapabilities | undefined;

  private constructor({ definition, fixture, tools }: SinkCase, config: JsonObject) {
    this.definition = definition;
    this.fixture = fixture;
    this.tools = tools;
    this.capabilities = this.capabilitiesOf(config);
    this.keyedCapabilities = this.offers('upsert')
      ? this.capabilitiesOf(this.keyed(config))
      : undefined;
    this.overwritingCapabilities = this.offers('overwrite')
      ? this.capabilitiesOf(this.overwriting(config))
      : undefined;
  }

  static async of(given: SinkCase): Promise<SinkSubject> {
    const { config } = await given.fixture.fresh();
    return new SinkSubject(given, config);
  }

  offers(mode: WriteMode): boolean {
    return this.capabilities.writeModes.includes(mode);
  }

  fresh(): Promise<Destination> {
    return this.fixture.fresh();
  }

  parse(config: JsonObject): unknown {
    return parseConfig(this.definition, config);
  }

  capabilitiesOf(config: JsonObject): SinkCapabilities {
    return this.definition.capabilities(this.parse(config));
  }

  async open(config: JsonObject, changes: Partial<SinkContext> = {}): Promise<Sink> {
    return this.openParsed(this.parse(config), changes);
  }

  async openParsed(parsed: unknown, changes: Partial<SinkContext> = {}): Promise<Sink> {
    return this.definition.open(parsed, sinkContext(changes));
  }

  /** Opens a sink, closes it in any case, and gives what `work` gave. */
  async using<T>(
    config: JsonObject,
    work: (sink: Sink) => Promise<T>,
    changes: Partial<SinkContext> = {},
  ): Promise<T> {
    return this.usingParsed(this.parse(config), work, changes);
  }

  async usingParsed<T>(
    parsed: unknown,
    work: (sink: Sink) => Promise<T>,
    changes: Partial<SinkContext> = {},
  ): Promise<T> {
    const sink = await this.openParsed(parsed, changes);
    try {
      return await work(sink);
    } finally {
      await sink.close();
    }
  }

  /** One run: pages, a flush, an end. Gives the number of records written. */
  run(
    config: JsonObject,
    pages: readonly (readonly JsonValue[])[],
    reason: FinishReason = 'success',
  ): Promise<number> {
    return this.using(config, async (sink) => {
      let written = 0;
      for (const records of pages) written += (await write(sink, records)).written;
      await sink.flush();
      await sink.finish(reason);
      return written;
    });
  }

  /** Another process takes the steps and is then killed. */
  writeAndKill(config: JsonObject, steps: readonly WriterStep[], to: Destination): Promise<void> {
    const { type } = this.definition;
    return writeAndKill(this.tools.writer, { task: { type, config, steps }, to });
  }

  /** The settings of the config by which a second run adds to what is there. */
  continuing(config: JsonObject): JsonObject {
    return { ...config, ...this.fixture.continuing };
  }

  keyed(config: JsonObject, more: JsonObject = {}): JsonObject {
    return { ...config, write_mode: 'upsert', key: ['id'], ...more };
  }

  overwriting(config: JsonObject): JsonObject {
    return { ...config, write_mode: 'overwrite' };
  }

  /** What is there, without regard to order. */
  async expectRows(
    to: Destination,
    expected: readonly JsonObject[],
    when: string,
    { ordered = false } = {},
  ): Promise<void> {
    const rows = (await to.rows()) ?? [];
    const sort = (list: readonly JsonObject[]): readonly JsonObject[] =>
      ordered ? list : list.toSorted(byId);
    assert.deepEqual(sort(rows), sort(expected), `${when}: the destination holds other records`);
  }
}

function parseConfig(definition: SinkDefinition, config: JsonObject): unknown {
  const checked = check(definition.config, config);
  if (checked.ok) return checked.value;
  return assert.fail(`the config of the fixture is not valid: ${JSON.stringify(checked.issues)}`);
}

export function write(
  sink: Sink,
  records: readonly JsonValue[],
  partial = false,
): Promise<WriteResult> {
  return sink.write(Page.ofRecords(records), { partial });
}

/** The error that the work fails with. */
export async function failureOf(work: Promise<unknown>, what: string): Promise<Error> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Error) return error;
  return assert.fail(`${what} is reported as a success`);
}

export async function connectorFailureOf(
  work: Promise<unknown>,
  what: string,
): Promise<ConnectorError> {
  const error = await failureOf(work, what);
  assert.ok(error instanceof ConnectorError, `${what} fails with another error: ${String(error)}`);
  return error;
}
