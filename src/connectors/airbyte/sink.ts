import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { requireOpen, type FinishReason, type Sink, type WriteResult } from '../../kit/sink.ts';
import { keyedSpec, planKeyedPage, settle } from '../../kit/write-spec.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { hasField, isObject, type JsonObject } from '../../lib/text/json.ts';
import { objectsIn } from '../_programs/objects-in.ts';
import { StreamSchema } from '../_programs/stream-schema.ts';
import { askSpec, startConnector } from './ask.ts';
import { Destination, type NamedSinkConfig } from './destination.ts';
import { wholeConfig } from './kept-config.ts';
import type { AirbyteSinkConfig } from './sink-config.ts';
import { airbyteType, requireMode, writtenCatalog } from './written-catalog.ts';

export class AirbyteSink implements Sink {
  readonly #config: NamedSinkConfig;
  readonly #context: SinkContext;
  readonly #found = new StreamSchema(airbyteType);
  readonly #run: number;
  #destination: Destination | undefined;
  /** Fields and types that the destination was told. */
  #schema: JsonObject;
  /** Records behind the last state. */
  #sinceState = 0;
  #emittedAt = 0;
  #isClosed = false;
  #isDiscarded = false;

  constructor(config: AirbyteSinkConfig, context: SinkContext) {
    const stream = config.stream ?? context.row;
    this.#config =
      context.role === 'dlq'
        ? { ...config, stream, write_mode: 'append', flush_on: 'state' }
        : { ...config, stream };
    this.#context = context;
    this.#run = context.env.clock.now().getTime();
    this.#schema = config.schema ?? { type: 'object', properties: {} };
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    this.#context.signal.throwIfAborted();
    const { records, unknownFields } = this.#known(objectsIn(page, 'a destination'));
    if (records.length === 0) return { written: 0, rejected: [] };
    const last = this.#lastOfEachKey(records);
    const destination = await this.#ready(records, page);
    const { stream, namespace } = this.#config;
    // Of two records with one key the later one is the newer one.
    this.#emittedAt = Math.max(this.#emittedAt + 1, this.#context.env.clock.now().getTime());
    await destination.send(
      last.map((data): JsonObject => ({
        type: 'RECORD',
        record: {
          stream,
          ...(namespace === undefined ? {} : { namespace }),
          data,
          emitted_at: this.#emittedAt,
        },
      })),
    );
    this.#sinceState += last.length;
    return { written: records.length, rejected: [], ...(unknownFields && { unknownFields }) };
  }

  /** Where the destination gives the state back, it has stored everything before it. */
  async flush(): Promise<void> {
    if (this.#storesEarly) await this.#store();
  }

  async finish(reason: FinishReason): Promise<void> {
    // One that does not hear that the stream is complete keeps what it had, and what was flushed.
    this.#isDiscarded = reason !== 'success' && !this.#storesEarly;
    if (reason !== 'success') return this.#destination?.stop();
    if (this.#destination === undefined && this.#config.write_mode !== 'overwrite') return;
    this.#destination ??= await this.#start();
    await this.#end(this.#destination);
  }

  discarded(): boolean {
    return this.#isDiscarded;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#destination?.stop();
  }

  /** Otherwise nothing may be stored before the end. */
  get #storesEarly(): boolean {
    return this.#config.flush_on === 'state' && this.#config.write_mode !== 'overwrite';
  }

  async #store(): Promise<void> {
    if (this.#sinceState === 0) return;
    await this.#destination?.store(this.#sinceState);
    this.#sinceState = 0;
  }

  async #end(destination: Destination): Promise<void> {
    await this.#store();
    await destination.complete();
    await destination.stop();
    this.#destination = undefined;
  }

  /** Without the fields that the document leaves out. */
  #known(records: JsonObject[]) {
    const { schema } = this.#config;
    const properties = schema?.['properties'];
    if (!isObject(properties) || schema?.['additionalProperties'] === true) return { records };
    const unknown = new Map<string, number>();
    const kept = records.map((record) => {
      const others = Object.keys(record).filter((name) => !hasField(properties, name));
      for (const name of others) unknown.set(name, (unknown.get(name) ?? 0) + 1);
      return others.length === 0
        ? record
        : Object.fromEntries(Object.entries(record).filter(([name]) => !others.includes(name)));
    });
    return unknown.size === 0 ? { records } : { records: kept, unknownFields: unknown };
  }

  #lastOfEachKey(records: readonly JsonObject[]): readonly JsonObject[] {
    const spec = keyedSpec(this.#config, 'value');
    if (spec === undefined) return records;
    const { upserts, rejected } = planKeyedPage(records, { ...spec, replaces: true });
    // What a destination makes of a record without its key is anybody's guess.
    settle(records.length, rejected, false);
    return upserts.map(({ record }) => record);
  }

  /** A catalog cannot change: one that has new fields or types is for a destination that starts anew. */
  async #ready(records: readonly JsonObject[], page: Page): Promise<Destination> {
    const grown =
      this.#config.schema === undefined ? this.#found.before(records, page.schema) : undefined;
    if (grown !== undefined && this.#destination !== undefined) {
      if (!this.#storesEarly) throw this.#tooLate(grown);
      this.#context.env.log.info('the connector starts anew, for fields that it was not told of', {
        program: this.#config.command[0],
      });
      await this.#end(this.#destination);
    }
    this.#schema = grown ?? this.#schema;
    return (this.#destination ??= await this.#start());
  }

  async #start(): Promise<Destination> {
    const { stream } = this.#config;
    const config = await wholeConfig(this.#config, this.#context);
    requireMode(await askSpec(this.#config, config, this.#context), this.#config);
    const catalog = writtenCatalog({ stream, schema: this.#schema, run: this.#run }, this.#config);
    const program = startConnector('write', { config, catalog }, this.#config, this.#context);
    return new Destination(program, this.#config, this.#context);
  }

  #tooLate({ properties: now }: JsonObject): ConnectorError {
    const { properties: before } = this.#schema;
    const names = Object.entries(isObject(now) ? now : {})
      .filter(
        ([name, type]) =>
          !isObject(before) || JSON.stringify(before[name]) !== JSON.stringify(type),
      )
      .map(([name]) => `\`${name}\``);
    const early = this.#config.write_mode === 'overwrite' ? '' : ', or set `flush_on: state`';
    return new ConnectorError(
      'data',
      `records have fields or types that the connector \`${this.#config.command[0]}\` was not told of when it started: ${names.join(', ')}`,
      { hint: `give the fields in \`schema\`${early}` },
    );
  }
}
