/** Records as messages. */
import type { Page } from '../../../kit/page.ts';
import { ConnectorError, RecordError, messageOf } from '../../../lib/errors.ts';
import { isTopicName } from '../../../lib/kafka/kafka.ts';
import { isObject, jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { compilePath, type PathReader } from '../../_http/json-path.ts';
import type { KafkaSinkConfig } from '../config.ts';
import { encoderOf, type Encode } from '../formats/encode.ts';
import type { SchemaRegistry } from '../formats/registry.ts';

export interface OutMessage {
  readonly topic: string;
  readonly key?: Buffer;
  readonly value: Buffer;
  readonly partition?: number;
  readonly headers?: Map<Buffer, Buffer>;
}

/** `undefined` is a record that is left out. */
export type Made = OutMessage | undefined;

/** How many partitions a topic has now. */
export type CountPartitions = (topic: string) => Promise<number>;

interface TopicEncoders {
  readonly key: Encode;
  readonly value: Encode;
}

export class MessageMaker {
  readonly #config: KafkaSinkConfig;
  readonly #registry: SchemaRegistry | undefined;
  readonly #topic: PathReader | undefined;
  readonly #key: PathReader | undefined;
  readonly #partition: PathReader | undefined;
  readonly #headers: PathReader | undefined;
  readonly #encoders = new Map<string, Promise<TopicEncoders>>();
  readonly #countPartitions: CountPartitions;
  readonly #partitionCounts = new Map<string, number>();

  constructor(
    config: KafkaSinkConfig,
    registry: SchemaRegistry | undefined,
    countPartitions: CountPartitions,
  ) {
    const { topic, key_path: key, partition_path: partition, headers_path: headers } = config;
    this.#config = config;
    this.#registry = registry;
    this.#countPartitions = countPartitions;
    this.#topic = topic.type === 'from_path' ? compilePath(topic.path) : undefined;
    this.#key = key === undefined ? undefined : compilePath(key);
    this.#partition = partition === undefined ? undefined : compilePath(partition);
    this.#headers = headers === undefined ? undefined : compilePath(headers);
  }

  /** Of a whole page: when one record cannot be sent, none is. */
  async of(page: Page): Promise<OutMessage[]> {
    const made: OutMessage[] = [];
    for (const [index, record] of page.records().entries()) {
      try {
        const topic = this.#topicOf(record);
        const message = this.#message(record, topic, await this.#encodersOf(topic));
        if (message === undefined) continue;
        if (message.partition !== undefined) await this.#checkPartition(topic, message.partition);
        made.push(message);
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        throw new ConnectorError('data', `a record cannot be sent: ${messageOf(error)}`, {
          record: index,
          cause: error,
          ...(error.hint === undefined ? {} : { hint: error.hint }),
        });
      }
    }
    return made;
  }

  #message(record: JsonValue, topic: string, encode: TopicEncoders): Made {
    const key = this.#keyOf(record);
    if (key === undefined) return undefined;
    const partition = this.#partitionOf(record);
    const headers = this.#headersOf(record);
    return {
      topic,
      value: encode.value(record),
      ...(key === null ? {} : { key: encode.key(key) }),
      ...(partition === undefined ? {} : { partition }),
      ...(headers === undefined ? {} : { headers }),
    };
  }

  #topicOf(record: JsonValue): string {
    const { topic } = this.#config;
    if (topic.type === 'fixed') return topic.name;
    const [name] = this.#topic?.(record) ?? [];
    if (typeof name === 'string' && isTopicName(name)) return name;
    throw new RecordError('Sink', `there is no name of a topic at \`${topic.path}\``);
  }

  /** `null` is a message without a key, `undefined` one that is left out. */
  #keyOf(record: JsonValue): JsonValue | undefined {
    if (this.#key === undefined) return null;
    const [found = null] = this.#key(record);
    if (found !== null) return found;
    const { on_key_error: fate, key_path: path } = this.#config;
    if (fate === 'skip') return undefined;
    if (fate === 'round_robin') return null;
    throw new RecordError('Sink', `there is no key at \`${path}\``, {
      hint: 'set `on_key_error` to `skip` or `round_robin`',
    });
  }

  #partitionOf(record: JsonValue): number | undefined {
    if (this.#partition === undefined) return undefined;
    const [found = null] = this.#partition(record);
    if (typeof found === 'number' && Number.isInteger(found) && found >= 0) return found;
    const path = this.#config.partition_path;
    throw new RecordError('Sink', `there is no number of a partition at \`${path}\``);
  }

  /** The client would take the remainder. */
  async #checkPartition(topic: string, partition: number): Promise<void> {
    if (partition < (this.#partitionCounts.get(topic) ?? 0)) return;
    const count = await this.#countPartitions(topic);
    this.#partitionCounts.set(topic, count);
    if (partition < count) return;
    const what = `there is no partition ${partition}: the topic \`${topic}\` has ${count}`;
    throw new RecordError('Sink', what, { hint: 'partitions are counted from 0' });
  }

  #headersOf(record: JsonValue): Map<Buffer, Buffer> | undefined {
    if (this.#headers === undefined) return undefined;
    const [found = null] = this.#headers(record);
    if (found === null) return undefined;
    if (!isObject(found)) {
      const path = this.#config.headers_path;
      throw new RecordError('Sink', `what stands at \`${path}\` is no mapping of headers`);
    }
    return new Map(
      Object.entries(found).map(([name, value]) => [
        Buffer.from(name),
        Buffer.from(jsonText(value)),
      ]),
    );
  }

  #encodersOf(topic: string): Promise<TopicEncoders> {
    const known = this.#encoders.get(topic) ?? this.#makeEncoders(topic);
    this.#encoders.set(topic, known);
    // A registry that did not answer is asked again by the next page.
    known.catch(() => this.#encoders.delete(topic));
    return known;
  }

  async #makeEncoders(topic: string): Promise<TopicEncoders> {
    const { key_format, value_format, key_schema, value_schema } = this.#config;
    const registry = this.#registry;
    const subject = (part: string): string => `${topic}-${part}`;
    const key = { format: key_format, schema: key_schema, registry, subject: subject('key') };
    const value = {
      format: value_format,
      schema: value_schema,
      registry,
      subject: subject('value'),
    };
    return { key: await encoderOf(key), value: await encoderOf(value) };
  }
}
