/** Rows that are cut into chunks, and what every chunk must be. */
import type { Placed } from '../../document/parse/read-blocks.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { PlannedSource } from '../../plan/plan.ts';
import type { BlockTools, GrantedTokens, RowPlace } from '../define-block.ts';
import { CHUNK_TOKENS, cut, type Chunk, type PartitionSpec } from './chunks.ts';
import { probeOf } from './schema.ts';

/** The range of a row, cut into chunks. */
export interface PartitionPlan {
  readonly path: string;
  readonly spec: PartitionSpec;
  /** `undefined` when a bound is found out only at run time. */
  readonly chunks: readonly Chunk[] | undefined;
  /** Who knows the bound. */
  readonly probe: { readonly source: PlannedSource; readonly valuePath: string } | undefined;
}

export interface PartitionOfRow {
  readonly partition: PartitionPlan | undefined;
}

export function assemblePartition(
  { path, value: spec }: Placed<PartitionSpec>,
  { planSource }: BlockTools,
): PartitionOfRow {
  const probe = probeOf(spec);
  if (probe === undefined) {
    const result = cut(spec);
    // An invalid range was reported when the block was read.
    return {
      partition:
        'fault' in result ? undefined : { path, spec, chunks: result.chunks, probe: undefined },
    };
  }
  const source = planSource({
    path: joinPath(path, spec.kind === 'offset' ? 'total' : 'to', 'from_source'),
    value: probe.from_source,
  });
  return {
    partition:
      source === undefined
        ? undefined
        : { path, spec, chunks: undefined, probe: { source, valuePath: probe.value_path } },
  };
}

/** Every chunk must read something else: its tokens must be used in the source. */
export function checkPartition(
  given: Placed<PartitionSpec> | undefined,
  row: AssembledRow,
  { issues }: RowPlace,
): void {
  if (given === undefined) return;
  if (row.source.tokens.some(({ token }) => token.kind === 'path' && token.root === 'partition'))
    return;
  const [first = '', second = ''] = CHUNK_TOKENS[given.value.kind];
  const message = `${row.name} is cut into chunks, but every chunk would read the same: its source names none of them`;
  issues.error(
    'partition_unused',
    joinPath(row.source.plan.path, 'config'),
    message,
    `use \`\${partition.${first}}\` and \`\${partition.${second}}\` in the \`config\` of the source, or set \`partition: null\` in the row`,
  );
}

export function chunkTokens(given: Placed<PartitionSpec> | undefined): GrantedTokens | undefined {
  if (given === undefined) return undefined;
  const { kind } = given.value;
  return {
    names: CHUNK_TOKENS[kind],
    unknown: (body) => `a chunk of kind \`${kind}\` has no \`\${${body}}\``,
  };
}
