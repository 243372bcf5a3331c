/**
 * What a row is held to: while records travel, when it has ended, and when something fails. In
 * short for `plan`, in words for `explain`.
 */
import type { Fact, FactTopic } from '../../blocks/define-block.ts';
import { BLOCKS } from '../../blocks/index.ts';
import type { PlannedRow } from '../../plan/plan.ts';

/** What the blocks of a row have to tell under a heading. */
export function factsAbout(topic: FactTopic, row: PlannedRow): readonly Fact[] {
  const facts = BLOCKS.flatMap((block) => {
    const planned = row.blocks[block.name];
    const own = planned === undefined ? undefined : block.explain?.(planned, row);
    return own ?? block.explainRow?.(row) ?? [];
  });
  return facts.filter((fact) => fact.topic === topic);
}

/** What blocks add to a row of `plan --json`. */
export function listedBlocks(row: PlannedRow): Record<string, unknown> {
  return Object.fromEntries(
    BLOCKS.flatMap(({ name, listed }) => {
      const planned = row.blocks[name];
      if (listed === undefined) return [];
      return [[listed.key, planned === undefined ? null : listed.value(planned, row)]];
    }),
  );
}
