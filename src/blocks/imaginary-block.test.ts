/** Blocks that nothing else knows: their definitions and lines in the list are all there is. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { issuesOf, load, plan as planText } from '../../test/fakes/documents.ts';
import { describedBlocks, grammarOf } from '../document/grammar.ts';
import { jsonSchemaOf } from '../kit/json-schema.ts';
import type { PlannedState } from '../plan/plan.ts';
import { blockOf, defineBlock } from './define-block.ts';
import { BLOCKS } from './index.ts';

interface Watermark {
  readonly text: string;
}

const watermarkBlock = defineBlock<Watermark>({
  name: 'watermark',
  placement: 'top',
  description: 'Marks what is written.',
  schema: z.lazy(() =>
    z.strictObject({ text: z.string().min(1).meta({ description: 'The mark.' }) }),
  ),
  examples: [{ text: 'draft' }],
  inRows: { description: 'Replaces that of the document; null means none.', nullable: true },
  plannedFor: 'rows',
  checkRow: ({ text }, { name }, { path, issues }) => {
    if (text === 'none') issues.error('invalid_value', path, `${name} would not be marked`);
  },
  quarantines: ({ text }) => text === 'quarantine',
  readsRecords: () => ({ why: '`watermark` marks every record', onColumns: false }),
  notBesideNodes: 'a graph is not marked',
});

const definitions = [...BLOCKS, watermarkBlock];
const document = (block: string, rows = ''): string =>
  `{version: 1, pipeline: {source: {type: lines, config: {path: in}}, sink: {type: nowhere}}, watermark: ${block}${rows}}`;
const plan = (text: string) => planText(text, { definitions });

test('is in the schemas of documents and rows, and described', () => {
  const grammar = grammarOf(definitions);
  const schema = JSON.stringify(jsonSchemaOf(grammar.document));
  expect(schema.split('"watermark"')).toHaveLength(3);
  expect(describedBlocks(grammar).map(({ name }) => name)).toContain('watermark');
});

test('is inherited, replaced and taken away by rows', () => {
  const rows = ', matrix: [{id: a}, {id: b, watermark: {text: own}}, {id: c, watermark: null}]';
  const planned = plan(document('{text: all}', rows)).rows;
  expect(planned.map((row) => blockOf(row, watermarkBlock)?.text)).toEqual([
    'all',
    'own',
    undefined,
  ]);
  expect(planned[0]?.lane.reason).toContain('`watermark` marks every record');
});

test('is held to its schema and its rules, also those that every block has', () => {
  expect(issuesOf(() => plan(document('{}')))).toEqual(['missing_key watermark.text']);
  expect(issuesOf(() => plan(document('{text: none}')))).toEqual(['invalid_value watermark']);
  expect(issuesOf(() => plan(document('{text: quarantine}')))).toEqual(['dlq_required watermark']);
  const list =
    ', matrix: [{id: a, fan_out: {source: {type: lines, config: {path: x}}, select: $, as: v}, watermark: {text: x}}]';
  expect(issuesOf(() => plan(document('null', list)))).toContain(
    'conflicting_keys matrix[0].watermark',
  );
});

interface Archive {
  readonly store: { readonly type: string };
}

/** It shapes rows: names a part, cuts them, fills in a token, and has a member of the row. */
const archiveBlock = defineBlock<Archive>({
  name: 'archive',
  placement: 'source',
  description: 'Keeps a copy of what was read.',
  schema: z.lazy(() =>
    z.strictObject({
      store: z
        .strictObject({ type: z.string().meta({ description: 'Name of the store.' }) })
        .meta({ description: 'Where it is kept.' }),
    }),
  ),
  examples: [{ store: { type: 'memory' } }],
  plannedFor: 'members',
  assemble: ({ path, value }, { assembleState }) =>
    memberOf(assembleState({ path: `${path}.store`, value: value.store })?.plan),
  cuts: () => ({ name: 'archive', per: 'per copy' }),
  planRow: (_given, row) => memberOf(archiveOf(row)),
  checkEveryRow: (given, row, { issues }) => {
    if (given === undefined) issues.warn('not_archived', row.resolved.path, row.name);
  },
  explainRow: (row) => [{ topic: 'expects', short: 'archive', words: `${archiveOf(row)?.type}` }],
  tokens: {
    root: 'archive',
    hint: 'only rows with an archive have it',
    granted: (given) =>
      given === undefined ? undefined : { names: ['day'], unknown: (body) => `no ${body}` },
  },
  notOnNodes: { what: 'archive', hint: 'use rows' },
  notSubmitted: { code: 'archive_refused', message: 'not here', hint: 'remove it' },
});

interface WithArchive {
  readonly archive?: PlannedState | undefined;
}
/** Members are declared by their types; this one has none outside of the test. */
const archiveOf = (row: object): PlannedState | undefined => (row as WithArchive).archive;

const memberOf = (archive: PlannedState | undefined): object => ({ archive });

const archiving = (path: string, archive: string, rows = '') =>
  `{version: 1, pipeline: {source: {type: lines, config: {path: '${path}'}, ${archive}}, sink: {type: nowhere}}${rows}}`;
const planned = (text: string) => planText(text, { definitions: [...BLOCKS, archiveBlock] });

test('of a source is planned with its part, and the row of a matrix may have another', () => {
  const rows = ', matrix: [{id: a}, {id: b, source: {archive: {store: {type: memory}}}}]';
  const text = archiving('in-${archive.day}', 'archive: {store: {type: memory}}', rows);
  expect(planned(text).rows.map((row) => archiveOf(row)?.path)).toEqual([
    'pipeline.source.archive.store',
    'matrix[1].source.archive.store',
  ]);
  expect(issuesOf(() => planned(archiving('in', 'archive: {store: {type: none}}')))).toEqual([
    'unknown_type pipeline.source.archive.store.type',
  ]);
  expect(issuesOf(() => planned(archiving('in', 'archive: {}')))).toEqual([
    'missing_key pipeline.source.archive.store',
  ]);
});

test('grants its tokens only where it holds, reserves their name, and cuts the row', () => {
  expect(issuesOf(() => planned(archiving('in-${archive.day}', '')))).toEqual([
    'token_out_of_scope pipeline.source.config.path',
  ]);
  const archive = 'archive: {store: {type: memory}}';
  expect(issuesOf(() => planned(archiving('in-${archive.hour}', archive)))).toEqual([
    'unknown_token pipeline.source.config.path',
  ]);
  const waiting = ', matrix: [{id: archive}, {id: a}, {id: b, depends_on: [a]}]';
  expect(issuesOf(() => planned(archiving('in', archive, waiting)))).toEqual([
    'reserved_row_id matrix[0].id',
    'partition_referenced matrix[2].depends_on',
  ]);
});

test('judges rows without it, and is refused where it cannot be', () => {
  expect(planned(archiving('in', '')).warnings.map(({ code }) => code)).toContain('not_archived');
  const nodes = `{version: 1, pipeline: {sources: {s: {type: lines, config: {path: in}, archive: {store: {type: memory}}}},
    nodes: {a: {kind: source, ref: s}, b: {kind: sink, type: nowhere}}, edges: [{from: a, to: b}]}}`;
  expect(issuesOf(() => planned(nodes))).toEqual(['conflicting_keys pipeline.sources.s.archive']);
  const onSink = `{version: 1, pipeline: {source: {type: lines, config: {path: in}}, sink: {type: nowhere, archive: {}}}}`;
  expect(issuesOf(() => planned(onSink))).toEqual(['not_on_sink pipeline.sink.archive']);
  const submitted = { origin: { kind: 'submitted' } as const, blocks: [archiveBlock] };
  expect(issuesOf(() => load('archive: {}', submitted))).toEqual(['archive_refused archive']);
});
