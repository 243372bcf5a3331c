/**
 * A partitioned row runs once for each chunk of its range, and so does each of its tuples or parent
 * records.
 */
import { RunError } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import { parseFieldPath, readerOf } from '../../kit/field-path.ts';
import { cut, type Chunk } from '../../blocks/partition/chunks.ts';
import type { PartitionPlan } from '../../blocks/partition/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import { firstRecord } from '../first-record.ts';
import type { Expansion } from './expansion.ts';
import { wholeNumber } from '../../lib/whole-number.ts';

/** Invocations of one row, whatever they are for: the outcome of each is kept. */
const MAX_INVOCATIONS = 100_000;

export function chunkExpansion(row: string, base: Expansion, chunks: readonly Chunk[]): Expansion {
  const size = base.size * chunks.length;
  if (size > MAX_INVOCATIONS) {
    const message = `row \`${row}\` would run ${size} times: ${chunks.length} chunks, ${base.size} times each; ${MAX_INVOCATIONS} are possible`;
    throw new RunError('Config', 'product_too_large', message, { hint: 'make the chunks larger' });
  }
  return {
    size,
    idle: base.size === 0 ? base.idle : 'its range is empty',
    *iterations() {
      for (const iteration of base.iterations()) {
        for (const chunk of chunks) {
          yield {
            ...iteration,
            chunk: chunk.id,
            records: new Map([...iteration.records, ['partition', chunk.tokens]]),
          };
        }
      }
    },
  };
}

interface Asking {
  readonly context: SourceContext;
  readonly tokens: RuntimeTokens;
}

/**
 * The chunks of a row; where the document does not say the bound, its source is asked. Throws
 * `RunError`.
 */
export async function chunksOf(
  { spec, chunks, probe }: PartitionPlan,
  asking: Asking,
): Promise<readonly Chunk[]> {
  if (chunks !== undefined) return chunks;
  if (probe === undefined)
    throw new Error('cannot happen: there are neither chunks nor a source that knows the bound');
  const { type } = probe.source;
  const record = await firstRecord(probe.source, 'partition', asking);
  if (record === undefined) throw unknownBound(`\`${type}\` gave no record`);
  const path = parseFieldPath(probe.valuePath);
  const value = 'error' in path ? undefined : readerOf(path)(record);
  if (value === undefined)
    throw unknownBound(`the record of \`${type}\` has nothing at \`${probe.valuePath}\``);
  const result = cut(spec, boundOf(value, `\`${probe.valuePath}\` of \`${type}\``));
  if ('fault' in result) throw unknownBound(result.fault);
  return result.chunks;
}

function boundOf(value: JsonValue, place: string): bigint {
  const bound = wholeNumber(value);
  if (bound !== undefined) return bound;
  const found =
    value === null
      ? 'null'
      : typeof value === 'object'
        ? 'a structure'
        : stringifyJson(value).slice(0, 60);
  throw unknownBound(`${place} is no whole number but ${found}`);
}

function unknownBound(message: string): RunError {
  return new RunError(
    'Source',
    'partition_bound',
    `the range cannot be cut into chunks: ${message}`,
    {
      hint: 'let `from_source` give one record with the largest value, or write the bound into the document',
    },
  );
}
