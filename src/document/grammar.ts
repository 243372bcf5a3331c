/** The grammar of documents: the structure that every document has, with the blocks of a build. */
import type { ZodType } from 'zod';
import type { BlockGrammar, DescribedBlock } from './block.ts';
import { authBlock } from './structure/auth.ts';
import { documentBlock, documentSchemaOf, type DocumentSchema } from './structure/document.ts';
import { fanOutBlock } from './structure/fan-out.ts';
import { matrixBlock, rowSchemaOf, type RowSpec } from './structure/matrix.ts';
import { paramsBlock } from './structure/params.ts';
import { pipelineBlock, pipelineSchemaOf, type PipelineSchema } from './structure/pipeline.ts';
import { sinkBlock } from './structure/sink.ts';
import { sourceBlock, sourceSchemaOf, type SourceSpec } from './structure/source.ts';
import { edgesBlock, nodesBlock } from './structure/topology.ts';
import { transformBlock } from './structure/transform.ts';
import { varsBlock } from './structure/vars.ts';

export interface Grammar {
  readonly blocks: readonly BlockGrammar[];
  readonly document: DocumentSchema;
  readonly pipeline: PipelineSchema;
  readonly row: ZodType<RowSpec>;
  readonly source: ZodType<SourceSpec>;
  /** Keys of sources that sinks cannot have, with where they belong. */
  readonly onlyOnSources: ReadonlyMap<string, string>;
}

function onlyOnSources(blocks: readonly BlockGrammar[]): ReadonlyMap<string, string> {
  const hint = 'transforms belong to the pipeline, a source preset or a row';
  return new Map([
    ['transforms', hint],
    ['inherit_transforms', hint],
    ...blocks
      .filter(({ placement }) => placement === 'source')
      .map(({ name }) => [name, 'it belongs to the source'] as const),
  ]);
}

function isDescribed(block: BlockGrammar): block is DescribedBlock {
  return block.placement !== 'source';
}

export function grammarOf(blocks: readonly BlockGrammar[]): Grammar {
  const source = sourceSchemaOf(blocks);
  const pipeline = pipelineSchemaOf(blocks, { source });
  const row = rowSchemaOf(blocks);
  return Object.freeze({
    blocks,
    pipeline,
    row,
    source,
    onlyOnSources: onlyOnSources(blocks),
    document: documentSchemaOf(blocks, { pipeline, row }),
  });
}

/** Everything that has a name in a document, sorted by it: for `/v1/schemas` and the reference. */
export function describedBlocks({
  blocks,
  document,
  pipeline,
  row,
  source,
}: Grammar): readonly DescribedBlock[] {
  const structure: readonly DescribedBlock[] = [
    authBlock,
    documentBlock(document),
    edgesBlock,
    fanOutBlock,
    matrixBlock(row),
    nodesBlock,
    paramsBlock,
    pipelineBlock(pipeline),
    sinkBlock,
    sourceBlock(source),
    transformBlock,
    varsBlock,
  ];
  return [...structure, ...blocks.filter(isDescribed)].sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );
}
