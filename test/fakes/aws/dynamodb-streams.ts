/** A small service of tables whose changes are kept in shards. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Reply, SeenRequest } from '../http-server.ts';
import { answerCall, Fault, type Input, type Operation } from './protocol.ts';

type Item = Readonly<Record<string, AttributeValue>>;

interface Stored {
  readonly eventName: 'INSERT' | 'MODIFY' | 'REMOVE';
  readonly dynamodb: {
    readonly Keys: Item;
    readonly OldImage?: Item | undefined;
    readonly NewImage?: Item | undefined;
    readonly SequenceNumber: string;
    readonly SizeBytes: number;
    readonly ApproximateCreationDateTime: number;
  };
}

interface Shard {
  readonly id: string;
  readonly parent: string | undefined;
  readonly starting: string;
  readonly changes: Stored[];
  /** Of `changes`, those that are gone. */
  trimmed: number;
  ending: string | undefined;
}

interface Table {
  readonly name: string;
  readonly key: string;
  readonly items: Map<string, Item>;
  shards: Shard[];
  given: number;
  made: number;
  hasStream: boolean;
}

interface Place {
  readonly table: string;
  readonly shard: string;
  readonly from: number;
}

const FIRST_SECONDS = 1_700_000_000;
const PAGE = 2;

export const sequenceAt = (n: number): string => `${10n ** 20n + BigInt(n)}`;
/** In milliseconds; the service tells whole seconds. */
export const changedAt = (n: number): number => (FIRST_SECONDS + n) * 1000;

export class FakeTables {
  readonly tables = new Map<string, Table>();
  /** Iterators made before this number are expired. */
  oldestIterator = 0;
  /** Called before a page of a scan is answered. */
  onScan: () => void = () => {};
  #iterators = 0;
  readonly #operations: Readonly<Record<string, Operation>> = {
    DescribeTable: (input) => this.#describe(input),
    Scan: (input) => this.#scan(input),
    DescribeStream: (input) => this.#stream(input),
    GetShardIterator: (input) => this.#iterator(input),
    GetRecords: (input) => this.#records(input),
  };

  answer(request: SeenRequest): Promise<Reply> {
    return answerCall(request, this.#operations);
  }

  make(name: string, key = 'id'): void {
    const items = new Map<string, Item>();
    const table: Table = { name, key, items, shards: [], given: 0, made: 0, hasStream: true };
    this.tables.set(name, table);
    this.#open(table, undefined);
  }

  put(name: string, item: Item): void {
    const { table, id } = this.#placeOf(name, item);
    const old = table.items.get(id);
    table.items.set(id, item);
    this.#change(table, old, item);
  }

  remove(name: string, item: Item): void {
    const { table, id } = this.#placeOf(name, item);
    const old = table.items.get(id);
    table.items.delete(id);
    this.#change(table, old, undefined);
  }

  /** Closes the last shard; changes go into a child of it. */
  roll(name: string): void {
    const table = this.#named(name);
    const last = table.shards.at(-1) as Shard;
    last.ending = this.#next(table);
    this.#open(table, last.id);
  }

  /** The oldest changes of a shard are gone. */
  trim(name: string, shard: number, changes: number): void {
    (this.#named(name).shards[shard] as Shard).trimmed = changes;
  }

  /** The oldest shard is gone. */
  expire(name: string): void {
    this.#named(name).shards.shift();
  }

  #placeOf(name: string, item: Item): { readonly table: Table; readonly id: string } {
    const table = this.#named(name);
    return { table, id: JSON.stringify(item[table.key]) };
  }

  #change(table: Table, OldImage: Item | undefined, NewImage: Item | undefined): void {
    const eventName = NewImage === undefined ? 'REMOVE' : OldImage ? 'MODIFY' : 'INSERT';
    const item = NewImage ?? OldImage ?? {};
    const SequenceNumber = this.#next(table);
    table.shards.at(-1)?.changes.push({
      eventName,
      dynamodb: {
        Keys: { [table.key]: item[table.key] as AttributeValue },
        OldImage,
        NewImage,
        SequenceNumber,
        SizeBytes: 50,
        ApproximateCreationDateTime: changedAt(table.given) / 1000,
      },
    });
  }

  #next(table: Table): string {
    table.given += 1;
    return sequenceAt(table.given);
  }

  #open(table: Table, parent: string | undefined): void {
    const id = `shardId-${String(table.made).padStart(20, '0')}`;
    table.made += 1;
    const starting = sequenceAt(table.given + 1);
    table.shards.push({ id, parent, starting, changes: [], trimmed: 0, ending: undefined });
  }

  #named(name: string): Table {
    const table = this.tables.get(name);
    if (table !== undefined) return table;
    throw new Fault('ResourceNotFoundException', `Requested resource not found: ${name}`);
  }

  #describe({ TableName: name }: Input): unknown {
    const { key, hasStream } = this.#named(String(name));
    return {
      Table: {
        TableName: name,
        KeySchema: [{ AttributeName: key, KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: key, AttributeType: 'N' }],
        ...(hasStream ? { LatestStreamArn: `arn:aws:dynamodb:::${String(name)}` } : {}),
      },
    };
  }

  #scan({ TableName: name }: Input): unknown {
    this.onScan();
    return { Items: [...this.#named(String(name)).items.values()] };
  }

  #ofArn(arn: unknown): Table {
    return this.#named(String(arn).split(':').at(-1) ?? '');
  }

  /** Two shards on a page. */
  #stream({ StreamArn: arn, ExclusiveStartShardId: after }: Input): unknown {
    const { shards } = this.#ofArn(arn);
    const from = shards.findIndex(({ id }) => id === after) + 1;
    const some = shards.slice(from, from + PAGE);
    return {
      StreamDescription: {
        StreamArn: arn,
        StreamStatus: 'ENABLED',
        Shards: some.map(({ id, parent, starting, ending }) => ({
          ShardId: id,
          ParentShardId: parent,
          SequenceNumberRange: { StartingSequenceNumber: starting, EndingSequenceNumber: ending },
        })),
        ...(from + PAGE < shards.length ? { LastEvaluatedShardId: some.at(-1)?.id } : {}),
      },
    };
  }

  #iterator(input: Input): unknown {
    const { StreamArn: arn, ShardId: id, ShardIteratorType: type, SequenceNumber: number } = input;
    const table = this.#ofArn(arn);
    const shard = this.#shardOf(table, String(id));
    const place = { table: table.name, shard: shard.id };
    return {
      ShardIterator: this.#text({ ...place, from: startIn(shard, String(type), number) }),
    };
  }

  #shardOf({ shards }: Table, id: string): Shard {
    const shard = shards.find((one) => one.id === id);
    if (shard !== undefined) return shard;
    throw new Fault('ResourceNotFoundException', `Shard does not exist: ${id}`);
  }

  #text(place: Place): string {
    this.#iterators += 1;
    return JSON.stringify([this.#iterators, place]);
  }

  #records({ ShardIterator: iterator, Limit: limit }: Input): unknown {
    const [made, place] = JSON.parse(String(iterator)) as [number, Place];
    if (made < this.oldestIterator)
      throw new Fault('ExpiredIteratorException', 'The provided iterator exceeds the maximum age');
    const shard = this.#shardOf(this.#named(place.table), place.shard);
    if (place.from < shard.trimmed) throw trimmed();
    const Records = shard.changes.slice(place.from, place.from + Number(limit ?? 1000));
    const from = place.from + Records.length;
    const isAtEnd = from === shard.changes.length && shard.ending !== undefined;
    return { Records, ...(isAtEnd ? {} : { NextShardIterator: this.#text({ ...place, from }) }) };
  }
}

function trimmed(): Fault {
  return new Fault(
    'TrimmedDataAccessException',
    'The operation attempted to read past the oldest stream record in a shard.',
  );
}

function startIn({ changes, trimmed: gone }: Shard, type: string, number: unknown): number {
  if (type === 'TRIM_HORIZON') return gone;
  if (type === 'LATEST') return changes.length;
  const wanted = BigInt(String(number));
  const at = changes.filter(({ dynamodb: told }) => BigInt(told.SequenceNumber) < wanted).length;
  if (at < gone) throw trimmed();
  return type === 'AFTER_SEQUENCE_NUMBER' ? at + 1 : at;
}
