/** Moves records from a source to a sink in this process, as a run of a document does; it must complete. */
import { expect } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { parts } from '../../src/parts.ts';
import { planDocument } from '../../src/plan/plan-document.ts';
import { load } from './documents.ts';
import { run } from './engine.ts';

export type Stages = readonly JsonObject[];

export async function move(
  source: JsonObject,
  sink: JsonObject,
  transforms: Stages = [],
): Promise<void> {
  const document = { version: 1, name: 'move', pipeline: { source, transforms, sink } };
  const plan = planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
  const outcome = await run(plan);
  expect(outcome.invocations.map(({ error }) => error)).toEqual([null]);
}
