/** A block that nothing else knows: its definition and its line in the list are all there is. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { issuesOf, plan as planText } from '../../test/fakes/documents.ts';
import { describedBlocks, grammarOf } from '../document/grammar.ts';
import { jsonSchemaOf } from '../kit/schema.ts';
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
