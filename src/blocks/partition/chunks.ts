/** Splits the range of `partition` into chunks, once its bounds are known. */
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { cutSpan, WINDOW_TOKENS, windowTokens } from '../../document/ranges/windows.ts';

/** A source whose first record holds a bound. */
export interface ProbeSpec {
  readonly from_source: { readonly type: string; readonly config?: JsonObject | undefined };
  readonly value_path: string;
}

/** The block `partition`, as its schema reads it; whole numbers may be given as text. */
export type PartitionSpec =
  | {
      readonly kind: 'integer';
      readonly from: number | string;
      readonly to: number | string | ProbeSpec;
      readonly chunk_size: number | string;
      readonly bounds: 'inclusive' | 'half_open';
      readonly to_unbounded?: boolean | undefined;
    }
  | {
      readonly kind: 'timestamp';
      readonly from: string;
      readonly to: string;
      readonly chunk_size: number | string;
      readonly timezone: string;
    }
  | {
      readonly kind: 'offset';
      readonly total: number | string | ProbeSpec;
      readonly chunk_size: number | string;
    };

export interface Chunk {
  /** Part of the state key. */
  readonly id: string;
  /** Values of `${partition.<name>}`. */
  readonly tokens: JsonObject;
}

/** Why there are no chunks. */
export interface ChunkFault {
  readonly fault: string;
}

export type Cut = { readonly chunks: readonly Chunk[] } | ChunkFault;

/** Chunks of one row (spec 8 bounds products; chunks are held to the same). */
export const MAX_CHUNKS = 10_000;

/** Where no record can be beyond: the largest 64-bit integer. */
const UNBOUNDED = 2n ** 63n - 1n;

type Of<K extends PartitionSpec['kind']> = Extract<PartitionSpec, { readonly kind: K }>;

export const CHUNK_TOKENS: Readonly<Record<PartitionSpec['kind'], readonly string[]>> = {
  integer: ['start', 'end', 'index', 'id'],
  timestamp: [...WINDOW_TOKENS, 'index', 'id'],
  offset: ['offset', 'limit', 'index', 'id'],
};

/** The chunks in order; `found` is what a probe gave where the document does not say the bound. */
export function cut(spec: PartitionSpec, found?: bigint): Cut {
  switch (spec.kind) {
    case 'integer':
      return cutIntegers(spec, found);
    case 'offset':
      return cutOffsets(spec, found);
    case 'timestamp':
      return cutTime(spec);
    default:
      return spec satisfies never;
  }
}

function cutIntegers(spec: Of<'integer'>, found: bigint | undefined): Cut {
  const [from, size] = [BigInt(spec.from), BigInt(spec.chunk_size)];
  const inclusive = spec.bounds === 'inclusive';
  if (found !== undefined && found < from)
    return { fault: `the bound that was found (${found}) is below \`from\` (${from})` };
  // The end of a half-open range is no longer part of it, but a value that was found is.
  const to =
    found === undefined ? BigInt(spec.to as number | string) : inclusive ? found : found + 1n;
  const width = to - from + (inclusive ? 1n : 0n);
  if (width <= 0n)
    return { fault: `there is nothing between \`from\` (${from}) and \`to\` (${to})` };
  const count = (width + size - 1n) / size;
  if (count > MAX_CHUNKS) return { fault: tooMany(count) };
  const open = spec.to_unbounded ?? found !== undefined;
  const last = Number(count) - 1;
  return {
    chunks: Array.from({ length: last + 1 }, (_, index) => {
      const start = from + BigInt(index) * size;
      const next = start + size;
      const end = index < last ? next - (inclusive ? 1n : 0n) : open ? UNBOUNDED : to;
      return numbered(index, last, { start: integer(start), end: integer(end) });
    }),
  };
}

function cutOffsets(spec: Of<'offset'>, found: bigint | undefined): Cut {
  const [total, size] = [found ?? BigInt(spec.total as number | string), BigInt(spec.chunk_size)];
  if (total < 0n) return { fault: `the total that was found (${total}) is less than 0` };
  const count = (total + size - 1n) / size;
  if (count > MAX_CHUNKS) return { fault: tooMany(count) };
  const last = Number(count) - 1;
  return {
    chunks: Array.from({ length: last + 1 }, (_, index) => {
      const offset = BigInt(index) * size;
      const rest = total - offset;
      return numbered(index, last, {
        offset: integer(offset),
        limit: integer(rest < size ? rest : size),
      });
    }),
  };
}

/** Ids are as wide as the last one, so that they sort. */
function numbered(index: number, last: number, tokens: JsonObject): Chunk {
  const id = String(index).padStart(String(last).length, '0');
  return { id, tokens: { ...tokens, index, id } };
}

function integer(value: bigint): JsonValue {
  const plain = Number(value);
  return Number.isSafeInteger(plain) ? plain : value;
}

function cutTime({ from, to, chunk_size: window, timezone }: Of<'timestamp'>): Cut {
  const result = cutSpan({ from, to, window, timezone }, MAX_CHUNKS);
  if ('fault' in result) {
    return {
      fault:
        result.fault === 'empty'
          ? `there is nothing between \`from\` (${from}) and \`to\` (${to})`
          : tooMany(),
    };
  }
  return {
    chunks: result.windows.map((one, index) => ({
      id: one.id,
      tokens: { ...windowTokens(one), index, id: one.id },
    })),
  };
}

function tooMany(count?: bigint): string {
  return `the range has ${count === undefined ? `more than ${MAX_CHUNKS}` : count} chunks; ${MAX_CHUNKS} are possible`;
}
