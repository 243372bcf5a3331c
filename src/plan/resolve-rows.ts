/** Rows with their presets, layers and inherited blocks settled; parts are not looked up yet. */
import { joinPath } from '../lib/text/text-path.ts';
import type { CompleteFor } from '../document/structure/complete-for.ts';
import type { SourceSpec } from '../document/structure/source.ts';
import type { TransformSpec } from '../document/structure/transform.ts';
import type { BlockGrammar } from '../document/block.ts';
import { deliveryBlock } from '../blocks/delivery/index.ts';
import { dlqBlock } from '../blocks/dlq/index.ts';
import { partitionBlock } from '../blocks/partition/index.ts';
import { stateBlock } from '../blocks/state/index.ts';
import {
  ownBlock,
  parsedBlock,
  type ParsedBlocks,
  type ParsedRow,
  type Placed,
} from '../document/parse/read-blocks.ts';
import { shardOf } from './cut.ts';
import { resolveFanOut, resolveListSource, type ResolvedFanOut } from './resolve-fan-out.ts';
import { fanOutOf, type ValueList } from './for-each.ts';
import { resolvePart, type Resolving, type ResolvedPart } from './resolve-part.ts';
import type { ResolvedRow } from './resolved-row.ts';
import { readIds, readLinks, type RowLinks } from './row-graph.ts';
import { findTokens } from './run-time-tokens.ts';

const IMPLICIT_ROW: ParsedRow = { path: '', index: 0, spec: {} };

export interface ResolvedRows {
  /** Rows that move records. */
  readonly rows: readonly ResolvedRow[];
  /** Rows that list values. */
  readonly fanOuts: readonly ResolvedFanOut[];
  /** What tokens may name, by row id. */
  readonly lists: ReadonlyMap<string, ValueList>;
}

export function resolveRows(resolving: Resolving): ResolvedRows {
  const { blocks, issues } = resolving;
  const rows = blocks.matrix ?? [IMPLICIT_ROW];
  const ids = readIds(rows, issues);
  const lists = listsOf(rows, ids);
  const parts = rows.map((row) => resolveParts(row, resolving));
  const links = readLinks(
    rows,
    {
      ids,
      lists,
      definitions: resolving.definitions,
      named: parts.map((own) => namedLists(own, lists)),
    },
    issues,
  );
  const linked = rows.flatMap((row, index) => {
    const [link, own] = [links[index], parts[index]];
    return link === undefined || own === undefined ? [] : [{ row, link, own }];
  });
  return {
    rows: linked.flatMap(({ row, link, own }) =>
      isList(row) ? [] : [resolveRow(row, link, own, resolving)],
    ),
    fanOuts: linked.flatMap(
      ({ row, link, own }) => resolveFanOut(row, link, own.source, blocks) ?? [],
    ),
    lists,
  };
}

function listsOf(
  rows: readonly ParsedRow[],
  ids: readonly string[],
): ReadonlyMap<string, ValueList> {
  const lists = new Map<string, ValueList>();
  for (const [index, row] of rows.entries()) {
    const block = fanOutOf(row);
    const { collect, for_each: forEach = [] } = row.spec;
    if (block !== undefined)
      lists.set(ids[index] ?? '', { alias: block.value.as, collect: collect === true, forEach });
    else if (isList(row))
      lists.set(ids[index] ?? '', { alias: 'value', collect: false, forEach, isFaulty: true });
  }
  return lists;
}

function isList(row: ParsedRow): boolean {
  return fanOutOf(row) !== undefined || row.hasFaultyList === true;
}

interface ResolvedParts {
  readonly source: ResolvedPart | undefined;
  readonly sink: ResolvedPart | undefined;
}

function resolveParts(row: ParsedRow, resolving: Resolving): ResolvedParts {
  const { blocks, parts, issues } = resolving;
  const { sources, sinks, present } = blocks.pipeline;
  const { path, spec } = row;
  if (isList(row)) return { source: resolveListSource(row, resolving), sink: undefined };
  return {
    source: resolvePart(
      {
        role: 'source',
        own: spec.source,
        presets: sources,
        registry: parts.sources,
        path,
        present,
      },
      issues,
    ),
    sink: resolvePart(
      { role: 'sink', own: spec.sink, presets: sinks, registry: parts.sinks, path, present },
      issues,
    ),
  };
}

/** Collected lists that the configs of a row name: it waits for them without saying so. */
function namedLists(
  { source, sink }: ResolvedParts,
  lists: ReadonlyMap<string, ValueList>,
): string[] {
  if (![...lists.values()].some((list) => list.collect)) return [];
  const tokens = [source, sink].flatMap((part) =>
    part === undefined ? [] : findTokens(part.config),
  );
  return tokens.flatMap(({ token }) =>
    token.kind === 'path' && lists.get(token.root)?.collect === true ? [token.root] : [],
  );
}

function resolveRow(
  row: ParsedRow,
  link: RowLinks,
  parts: ResolvedParts,
  resolving: Resolving,
): ResolvedRow {
  const { blocks } = resolving;
  const { pipeline } = blocks;
  const { spec, path } = row;
  const ref = spec.source?.ref ?? 'default';
  const placed = pipeline.sources.get(ref);
  const template = placed?.value;
  const completeFor = completeForOf(row, placed);
  const delivery = inherit(row, deliveryBlock, blocks);
  const isRoot = link.parent === undefined && link.forEach.length === 0;
  return {
    id: link.id,
    index: row.index,
    path,
    parent:
      link.parent === undefined ? undefined : { row: link.parent, key: spec.parent_key ?? 'id' },
    dependsOn: link.dependsOn,
    forEach: link.forEach,
    source: parts.source,
    sink: parts.sink,
    transforms: layerTransforms(pipeline.transforms, pipeline.sources.get(ref), row),
    state: inherit(row, stateBlock, blocks),
    dlq: inherit(row, dlqBlock, blocks),
    partition: inherit(row, partitionBlock, isRoot ? blocks : NOTHING_ABOVE),
    shard: isRoot ? shardOf(blocks, parts.source) : undefined,
    blocks: blocksOfRow(row, resolving),
    delivery: delivery?.value ?? 'at_least_once',
    deliveryPath: delivery?.path ?? 'delivery',
    ...(completeFor === undefined ? {} : { completeFor }),
    weight: spec.weight,
    tags: [...new Set([...(template?.tags ?? []), ...(spec.tags ?? [])])],
    status: spec.source?.status ?? template?.status ?? 'active',
  };
}

/** What the row says replaces what the template says. */
function completeForOf(
  { path, spec }: ParsedRow,
  template: Placed<SourceSpec> | undefined,
): Placed<CompleteFor> | undefined {
  const own = spec.source?.complete_for;
  if (own !== undefined) return { path: joinPath(path, 'source', 'complete_for'), value: own };
  const value = template?.value.complete_for;
  return template === undefined || value === undefined
    ? undefined
    : { path: joinPath(template.path, 'complete_for'), value };
}

/** Blocks that a row has of which nothing can be said for it alone, such as a sink node. */
export function blocksOfDocument(
  resolving: Pick<Resolving, 'blocks' | 'definitions'>,
): ReadonlyMap<string, Placed<unknown>> {
  return blocksOfRow(IMPLICIT_ROW, resolving);
}

/** Blocks that rows have as they are: each row its own, or that of the document. */
function blocksOfRow(
  row: ParsedRow,
  { blocks, definitions }: Pick<Resolving, 'blocks' | 'definitions'>,
): ReadonlyMap<string, Placed<unknown>> {
  const found = new Map<string, Placed<unknown>>();
  for (const definition of definitions) {
    if (definition.plannedFor !== 'rows') continue;
    const placed =
      definition.inRows === undefined
        ? parsedBlock(blocks, definition)
        : inherit(row, definition, blocks);
    if (placed !== undefined) found.set(definition.name, placed);
  }
  return found;
}

/** Absent inherits, null means none, a value replaces. */
function inherit<T>(
  row: ParsedRow,
  block: BlockGrammar<T>,
  above: Pick<ParsedBlocks, 'named'>,
): Placed<T> | undefined {
  const own = ownBlock(row, block);
  if (own === undefined) return parsedBlock(above, block);
  return own === null ? undefined : { path: joinPath(row.path, block.name), value: own };
}

const NOTHING_ABOVE = { named: new Map<string, never>() };

/**
 * Pipeline, then source preset, then row; `inherit_transforms: false` drops every layer above.
 */
function layerTransforms(
  pipeline: readonly Placed<TransformSpec>[],
  template: Placed<SourceSpec> | undefined,
  row: ParsedRow,
): readonly Placed<TransformSpec>[] {
  const own = placedList(row.spec.transforms, joinPath(row.path, 'transforms'));
  if (row.spec.inherit_transforms === false) return own;
  const middle =
    template === undefined
      ? []
      : placedList(template.value.transforms, joinPath(template.path, 'transforms'));
  return template?.value.inherit_transforms === false
    ? [...middle, ...own]
    : [...pipeline, ...middle, ...own];
}

function placedList(
  list: readonly TransformSpec[] | undefined,
  path: string,
): Placed<TransformSpec>[] {
  return (list ?? []).map((value, index) => ({ path: joinPath(path, index), value }));
}
