/** A small server of streams: shards with sequence numbers, iterators, splits and merges. */
import { createHash } from 'node:crypto';
import type { Reply, SeenRequest } from '../http-server.ts';
import { answerCall, Fault, type Input, type Operation } from './protocol.ts';

interface Stored {
  readonly SequenceNumber: string;
  readonly ApproximateArrivalTimestamp: number;
  readonly Data: string;
  readonly PartitionKey: string;
}

interface Shard {
  readonly id: string;
  readonly parents: readonly string[];
  readonly range: readonly [bigint, bigint];
  readonly starting: string;
  readonly records: Stored[];
  ending: string | undefined;
}

interface Stream {
  readonly name: string;
  readonly shards: Shard[];
  /** Sequence numbers that were given. */
  given: number;
  made: number;
}

interface Place {
  readonly stream: string;
  readonly shard: string;
  readonly from: number;
}

const HASHES = 2n ** 128n;
const FIRST_SEQUENCE = 49_590_338_271_490_256_608_559_692_538_361_571_095n;
const FIRST_MS = 1_700_000_000_000;

/** The number that a stream gives as its n-th, and the time at which a record with it arrives. */
export const sequenceAt = (n: number): string => String(FIRST_SEQUENCE + BigInt(n));
export const arrivalAt = (n: number): number => FIRST_MS + n;

export class FakeKinesis {
  readonly streams = new Map<string, Stream>();
  /** Iterators made before this number are expired. */
  oldestIterator = 0;
  #iterators = 0;
  readonly #operations: Readonly<Record<string, Operation>> = {
    CreateStream: (input) => this.#create(input),
    DescribeStreamSummary: (input) => this.#summary(input),
    ListShards: (input) => this.#list(input),
    GetShardIterator: (input) => this.#iterator(input),
    GetRecords: (input) => this.#records(input),
    PutRecords: (input) => this.#put(input),
  };

  answer(request: SeenRequest): Promise<Reply> {
    return answerCall(request, this.#operations);
  }

  /** Closes a shard and makes two of it. */
  split(name: string, id: string): void {
    const stream = this.#named(name);
    const [low, high] = this.#close(stream, id).range;
    const middle = (low + high) / 2n;
    this.#make(stream, [id], [low, middle]);
    this.#make(stream, [id], [middle, high]);
  }

  /** Closes two shards and makes one of them. */
  merge(name: string, one: string, other: string): void {
    const stream = this.#named(name);
    const [low] = this.#close(stream, one).range;
    const [, high] = this.#close(stream, other).range;
    this.#make(stream, [one, other], [low, high]);
  }

  /** Removes a shard whose records are too old. */
  expire(name: string, id: string): void {
    const { shards } = this.#named(name);
    shards.splice(
      shards.findIndex((shard) => shard.id === id),
      1,
    );
  }

  /** Removes the oldest records of a shard. */
  trim(name: string, id: string, many: number): void {
    this.#shardOf(name, id).records.splice(0, many);
  }

  #next(stream: Stream): string {
    stream.given += 1;
    return sequenceAt(stream.given);
  }

  #close(stream: Stream, id: string): Shard {
    const shard = this.#shardOf(stream.name, id);
    shard.ending = this.#next(stream);
    return shard;
  }

  #make(stream: Stream, parents: readonly string[], range: Shard['range']): void {
    const id = `shardId-${String(stream.made).padStart(12, '0')}`;
    stream.made += 1;
    const starting = this.#next(stream);
    stream.shards.push({ id, parents, range, starting, records: [], ending: undefined });
  }

  #named(name: string): Stream {
    const stream = this.streams.get(name);
    if (stream !== undefined) return stream;
    throw new Fault('ResourceNotFoundException', `Stream ${name} under account 0 not found.`);
  }

  #shardOf(name: string, id: string): Shard {
    const shard = this.#named(name).shards.find((one) => one.id === id);
    if (shard !== undefined) return shard;
    throw new Fault('ResourceNotFoundException', `Could not find shard ${id}`);
  }

  #create({ StreamName: given, ShardCount: count }: Input): unknown {
    const name = String(given);
    const many = BigInt(Number(count ?? 1));
    const stream: Stream = { name, shards: [], given: 0, made: 0 };
    for (let at = 0n; at < many; at += 1n)
      this.#make(stream, [], [(HASHES * at) / many, (HASHES * (at + 1n)) / many]);
    this.streams.set(name, stream);
    return {};
  }

  #summary({ StreamName: name }: Input): unknown {
    const { shards } = this.#named(String(name));
    const open = shards.filter(({ ending }) => ending === undefined).length;
    return {
      StreamDescriptionSummary: { StreamName: name, StreamStatus: 'ACTIVE', OpenShardCount: open },
    };
  }

  /** Two shards on a page. */
  #list({ StreamName: name, NextToken: token }: Input): unknown {
    if (name !== undefined && token !== undefined)
      throw new Fault(
        'InvalidArgumentException',
        'NextToken and StreamName cannot be provided together.',
      );
    const [of = '', from = '0'] = (typeof token === 'string' ? token : `${String(name)}:0`).split(
      ':',
    );
    const { shards } = this.#named(of);
    const at = Number(from);
    const Shards = shards.slice(at, at + 2).map(({ id, parents, range, starting, ending }) => ({
      ShardId: id,
      ...(parents[0] === undefined ? {} : { ParentShardId: parents[0] }),
      ...(parents[1] === undefined ? {} : { AdjacentParentShardId: parents[1] }),
      HashKeyRange: { StartingHashKey: `${range[0]}`, EndingHashKey: `${range[1] - 1n}` },
      SequenceNumberRange: {
        StartingSequenceNumber: starting,
        ...(ending === undefined ? {} : { EndingSequenceNumber: ending }),
      },
    }));
    return { Shards, ...(at + 2 < shards.length ? { NextToken: `${of}:${at + 2}` } : {}) };
  }

  #iterator(input: Input): unknown {
    const { StreamName: stream, ShardId: id, ShardIteratorType: type } = input;
    const shard = this.#shardOf(String(stream), String(id));
    const place = {
      stream: String(stream),
      shard: shard.id,
      from: startIn(shard, String(type), input),
    };
    return { ShardIterator: this.#iteratorText(place) };
  }

  #iteratorText(place: Place): string {
    this.#iterators += 1;
    return Buffer.from(JSON.stringify([this.#iterators, place])).toString('base64');
  }

  #records({ ShardIterator: iterator, Limit: limit }: Input): unknown {
    const [made, place] = JSON.parse(Buffer.from(String(iterator), 'base64').toString()) as [
      number,
      Place,
    ];
    if (made < this.oldestIterator)
      throw new Fault('ExpiredIteratorException', 'Iterator expired.');
    const shard = this.#shardOf(place.stream, place.shard);
    const Records = shard.records.slice(place.from, place.from + Number(limit ?? 10_000));
    const from = place.from + Records.length;
    const isAtEnd = from === shard.records.length;
    const next =
      isAtEnd && shard.ending !== undefined ? null : this.#iteratorText({ ...place, from });
    return { Records, NextShardIterator: next, MillisBehindLatest: isAtEnd ? 0 : 1000 };
  }

  #put({ StreamName: name, Records: records }: Input): unknown {
    const stream = this.#named(String(name));
    const { shards } = stream;
    const given = records as readonly Readonly<Record<string, string>>[];
    const bytes = given.reduce((sum, one) => sum + sizeOf(one), 0);
    if (given.length > 500 || bytes > 10_485_760)
      throw new Fault('InvalidArgumentException', 'The request is too large.');
    const Records = given.map((one) => {
      const { Data = '', PartitionKey = '', ExplicitHashKey } = one;
      const digest = createHash('md5').update(PartitionKey).digest('hex');
      const hash = BigInt(ExplicitHashKey ?? `0x${digest}`);
      const open = shards.filter(({ ending }) => ending === undefined);
      const shard = open.find(({ range }) => hash >= range[0] && hash < range[1]) as Shard;
      const SequenceNumber = this.#next(stream);
      const ApproximateArrivalTimestamp = arrivalAt(stream.given) / 1000;
      shard.records.push({ SequenceNumber, Data, PartitionKey, ApproximateArrivalTimestamp });
      return { SequenceNumber, ShardId: shard.id };
    });
    return { FailedRecordCount: 0, Records };
  }
}

function sizeOf({ Data = '', PartitionKey = '' }: Readonly<Record<string, string>>): number {
  return Buffer.from(Data, 'base64').length + Buffer.byteLength(PartitionKey);
}

function startIn({ records }: Shard, type: string, input: Input): number {
  const sequence = BigInt((input['StartingSequenceNumber'] as string | undefined) ?? 0);
  const first = (holds: (one: Stored) => boolean): number => {
    const at = records.findIndex(holds);
    return at === -1 ? records.length : at;
  };
  switch (type) {
    case 'TRIM_HORIZON':
      return 0;
    case 'LATEST':
      return records.length;
    case 'AT_TIMESTAMP':
      return first((one) => one.ApproximateArrivalTimestamp >= Number(input['Timestamp']));
    case 'AT_SEQUENCE_NUMBER':
      return first((one) => BigInt(one.SequenceNumber) >= sequence);
    case 'AFTER_SEQUENCE_NUMBER':
      return first((one) => BigInt(one.SequenceNumber) > sequence);
    default:
      throw new Fault('InvalidArgumentException', `no such type: ${type}`);
  }
}
