/** The units of a backfill, each with the plan that it runs. */
import type { Document } from '../../document/document.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { withinRange, type BookmarkRange } from './bookmark-range.ts';
import { asUnit, fillUnit } from './fill-unit.ts';
import { isolated, withSink, type StateKeys, type BackfillSubject } from './subject.ts';
import type { BackfillPlan } from './units.ts';

export interface UnitWork {
  readonly id: string;
  /** RFC 3339; null for a range of bookmarks. */
  readonly start: string | null;
  readonly end: string | null;
  /** What `${now.*}` renders. */
  readonly clock: Date;
  /** Where its source begins, unless it has begun already. */
  readonly seed: JsonValue | undefined;
  /** Throws `ConfigError` where its window makes no sense of the document. */
  plan(restarts: number): Plan;
}

export interface Working {
  readonly document: Document;
  readonly parts: Parts;
  readonly cpus: number;
  readonly subject: BackfillSubject;
  readonly keys: StateKeys;
}

export function windowWork({ units, timezone }: BackfillPlan, working: Working): UnitWork[] {
  return units.map((unit) => ({
    id: unit.id,
    start: unit.start,
    end: unit.end,
    clock: unit.startsAt,
    seed: undefined,
    plan: (restarts) =>
      planUnit(
        unit.id,
        restarts,
        fillUnit(working.document.tree, { ...unit, timezone }, 'loaded'),
        working,
      ),
  }));
}

export function bookmarkWork(range: BookmarkRange, clock: Date, working: Working): UnitWork[] {
  const id = `bookmark-${range.hash}`;
  const plan = (restarts: number): Plan =>
    withinRange(
      planUnit(id, restarts, asUnit(working.document.tree), working),
      working.subject.row.id,
      range,
    );
  return [{ id, start: null, end: null, clock, seed: range.from, plan }];
}

function planUnit(id: string, restarts: number, tree: JsonObject, working: Working): Plan {
  const { document, parts, cpus, subject, keys } = working;
  const plan = planDocument({ ...document, tree: withSink(tree, subject) }, parts, { cpus });
  const isAlone = plan.topology === undefined;
  const keyOf = (row: PlannedRow): string =>
    isAlone && row.id === subject.row.id ? keys.unit(id) : keys.beside(id, restarts, row.id);
  return isolated(plan, subject, keyOf);
}
