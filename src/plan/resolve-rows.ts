/** Rows with their presets, layers and inherited blocks settled; parts are not looked up yet. */
import { joinPath } from '../lib/text/text-path.ts';
import { findTokens } from '../document/tokens/find-tokens.ts';
import type { SourceSpec } from '../document/structure/source.ts';
import type { TransformSpec } from '../document/structure/transform.ts';
import type { BlockGrammar } from '../document/block.ts';
import type { BlockDefinition, Cut } from '../blocks/define-block.ts';
import {
  ownBlock,
  parsedBlock,
  type ParsedBlocks,
  type ParsedRow,
  type Placed,
} from '../document/parse/read-blocks.ts';
import { definitionsWith } from './definitions-with.ts';
import { resolveFanOut, resolveListSource, type ResolvedFanOut } from './resolve-fan-out.ts';
import { collectOf, fanOutOf, type ValueList } from './for-each.ts';
import { resolvePart, type Resolving, type ResolvedPart } from './resolve-part.ts';
import type { ResolvedRow } from './resolved-row.ts';
import { readIds, readLinks, type RowLinks } from './row-graph.ts';

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
  const ids = readIds(rows, resolving);
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
    const { for_each: forEach = [] } = row.spec;
    if (block !== undefined) {
      const collect = collectOf(row)?.value === true;
      lists.set(ids[index] ?? '', { alias: block.value.as, collect, forEach });
    } else if (isList(row))
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
  const { pipeline } = resolving.blocks;
  const { spec, path } = row;
  const ref = spec.source?.ref ?? 'default';
  const placed = pipeline.sources.get(ref);
  const preset = placed?.value;
  const own = blocksOfRow(row, resolving, {
    isRoot: link.parent === undefined && link.forEach.length === 0,
    preset: placed,
  });
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
    blocks: own,
    cuts: cutsOf(own, parts.source, resolving),
    weight: spec.weight,
    tags: [...new Set([...(preset?.tags ?? []), ...(spec.tags ?? [])])],
    status: spec.source?.status ?? preset?.status ?? 'active',
  };
}

/** Blocks that a row has of which nothing can be said for it alone, such as a sink node. */
export function blocksOfDocument(
  resolving: Pick<Resolving, 'blocks' | 'definitions'>,
): ReadonlyMap<string, Placed<unknown>> {
  const { blocks, definitions } = resolving;
  return blocksOfRow(
    IMPLICIT_ROW,
    { blocks, definitions: definitions.filter((block) => block.cuts === undefined) },
    { isRoot: true, preset: undefined },
  );
}

interface Above {
  /** Whether the row runs neither for records nor for values of others. */
  readonly isRoot: boolean;
  readonly preset: Placed<SourceSpec> | undefined;
}

/** The blocks that hold for a row: each its own, or that of the document. */
function blocksOfRow(
  row: ParsedRow,
  { blocks, definitions }: Pick<Resolving, 'blocks' | 'definitions'>,
  { isRoot, preset }: Above,
): ReadonlyMap<string, Placed<unknown>> {
  const found = new Map<string, Placed<unknown>>();
  for (const definition of definitionsWith(definitions, 'plannedFor')) {
    if (definition.plannedFor === 'plan') continue;
    const above = definition.inheritedBy === 'roots' && !isRoot ? NOTHING_ABOVE : blocks;
    const placed =
      definition.placement === 'source'
        ? blockOfSource(row, definition, preset)
        : definition.inRows === undefined
          ? parsedBlock(above, definition)
          : inherit(row, definition, above);
    if (placed !== undefined) found.set(definition.name, placed);
  }
  return found;
}

/** What the row says of its source replaces what the preset says. */
function blockOfSource(
  { path, spec }: ParsedRow,
  definition: BlockDefinition,
  preset: Placed<SourceSpec> | undefined,
): Placed<unknown> | undefined {
  const { name } = definition;
  const own = spec.source === undefined ? undefined : ownBlock({ spec: spec.source }, definition);
  if (own !== undefined) return { path: joinPath(path, 'source', name), value: own };
  const value = preset === undefined ? undefined : ownBlock({ spec: preset.value }, definition);
  return preset === undefined || value === undefined
    ? undefined
    : { path: joinPath(preset.path, name), value };
}

function cutsOf(
  own: ReadonlyMap<string, Placed<unknown>>,
  source: ResolvedPart | undefined,
  { definitions, parts }: Resolving,
): readonly Cut[] {
  return definitionsWith(definitions, 'cuts').flatMap((definition) => {
    const given = own.get(definition.name);
    return given === undefined ? [] : (definition.cuts(given, source, parts.sources) ?? []);
  });
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
  preset: Placed<SourceSpec> | undefined,
  row: ParsedRow,
): readonly Placed<TransformSpec>[] {
  const own = placedList(row.spec.transforms, joinPath(row.path, 'transforms'));
  if (row.spec.inherit_transforms === false) return own;
  const middle =
    preset === undefined
      ? []
      : placedList(preset.value.transforms, joinPath(preset.path, 'transforms'));
  return preset?.value.inherit_transforms === false
    ? [...middle, ...own]
    : [...pipeline, ...middle, ...own];
}

function placedList(
  list: readonly TransformSpec[] | undefined,
  path: string,
): Placed<TransformSpec>[] {
  return (list ?? []).map((value, index) => ({ path: joinPath(path, index), value }));
}
