/** The grammar of documents: the structure that every document has, with the blocks of a build. */
import type { ZodType } from 'zod';
import type { BlockGrammar } from './block.ts';
import { authBlock } from './structure/auth.ts';
import { documentBlock, documentSchemaOf, type DocumentSchema } from './structure/document.ts';
import { fanOutBlock } from './structure/fan-out.ts';
import { matrixBlock, rowSchemaOf, type RowSpec } from './structure/matrix.ts';
import { paramsBlock } from './structure/params.ts';
import { pipelineBlock, pipelineSchemaOf, type PipelineSchema } from './structure/pipeline.ts';
import { sinkBlock } from './structure/sink.ts';
import { sourceBlock } from './structure/source.ts';
import { edgesBlock, nodesBlock } from './structure/topology.ts';
import { transformBlock } from './structure/transform.ts';
import { varsBlock } from './structure/vars.ts';

export interface Grammar {
  readonly blocks: readonly BlockGrammar[];
  readonly document: DocumentSchema;
  readonly pipeline: PipelineSchema;
  readonly row: ZodType<RowSpec>;
}

export function grammarOf(blocks: readonly BlockGrammar[]): Grammar {
  const pipeline = pipelineSchemaOf(blocks);
  const row = rowSchemaOf(blocks);
  return Object.freeze({
    blocks,
    pipeline,
    row,
    document: documentSchemaOf(blocks, { pipeline, row }),
  });
}

/** Everything that has a name in a document, sorted by it: for `/v1/schemas` and the reference. */
export function describedBlocks({
  blocks,
  document,
  pipeline,
  row,
}: Grammar): readonly BlockGrammar[] {
  const structure: readonly BlockGrammar[] = [
    authBlock,
    documentBlock(document),
    edgesBlock,
    fanOutBlock,
    matrixBlock(row),
    nodesBlock,
    paramsBlock,
    pipelineBlock(pipeline),
    sinkBlock,
    sourceBlock,
    transformBlock,
    varsBlock,
  ];
  return [...structure, ...blocks].sort((one, other) => (one.name < other.name ? -1 : 1));
}
