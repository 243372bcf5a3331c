import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { documentOfTree } from '../../document/load.ts';
import { Page } from '../../kit/page.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { FieldWatch } from './field-watch.ts';

function missed(record: JsonObject, ...transforms: JsonObject[]): unknown[] {
  const file = (path: string) => ({ type: 'jsonl', config: { path } });
  const tree = {
    version: 1,
    pipeline: { source: file('in.jsonl'), transforms, sink: file('out.jsonl') },
  };
  const [row] = planDocument(documentOfTree(tree), parts, { cpus: 1 }).rows;
  const watch = new FieldWatch({ transforms: row?.transforms ?? [] });
  watch.see(Page.ofRecords([record]));
  const env = testEnv();
  watch.report(env.log, 'row-0');
  return env.lines.map(({ line }) => / field=(\S+)/.exec(line)?.[1]);
}

const drop = (...fields: string[]) => ({ type: 'drop', config: { fields } });

test('a field that a transform names and no record has is told', () => {
  expect(missed({ id: 1 }, drop('id', 'idd'))).toEqual(['idd']);
  expect(missed({ id: 1, idd: 2 }, drop('id', 'idd'))).toEqual([]);
});

test('a field that is only named by default may be one of another source', () => {
  const event = { op: 'c', after: { id: 1 } };
  expect(missed(event, { type: 'cdc_unwrap', config: {} })).toEqual([]);
  const named = { type: 'cdc_unwrap', config: { after_field: 'neu' } };
  expect(missed(event, named)).toEqual(['neu']);
});
