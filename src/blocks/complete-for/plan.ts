/** Records that no longer exist at the source are removed from the destination. */
import type { Placed } from '../../document/parse/read-blocks.ts';
import { findTokens, type FoundToken } from '../../document/tokens/find-tokens.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { Fact, RowPlace, TokenUse } from '../define-block.ts';
import type { CompleteFor } from './schema.ts';

/** The records of the destination that a complete read covers. */
export interface CleanUpPlan {
  readonly path: string;
  /** Destination columns and their values; may hold run-time tokens. */
  readonly scope: JsonObject;
  readonly tokens: readonly FoundToken[];
}

export interface CleanUpOfRow {
  /** Present when records that no longer exist at the source are removed after a complete read. */
  readonly cleanUp?: CleanUpPlan;
}

/** `undefined` where such records stay. */
export function planCleanUp(given: Placed<CompleteFor> | undefined): CleanUpOfRow {
  if (given?.value.on_missing !== 'delete') return {};
  const { path, tokens } = tokensOfScope(given);
  return { cleanUp: { path, scope: given.value.scope, tokens } };
}

export function tokensOfScope({ path, value }: Placed<CompleteFor>): TokenUse {
  return {
    path: joinPath(path, 'scope'),
    tokens: findTokens(value.scope),
    isFilledIn: value.on_missing === 'delete',
  };
}

/** Removing is refused wherever a record could only seem to be gone. */
export function checkCleanUp(
  given: Placed<CompleteFor> | undefined,
  row: AssembledRow,
  place: RowPlace,
): void {
  if (given?.value.on_missing !== 'delete') return;
  const limit = limitOf(row, place);
  if (limit === undefined) return;
  const [message, hint] = limit;
  place.issues.error(
    'clean_up_unsafe',
    joinPath(given.path, 'on_missing'),
    `records that no longer exist at the source cannot be removed: ${message}`,
    hint,
  );
}

type Limit = readonly [message: string, hint: string];

function limitOf(
  { delivery, writes, sink, isCut }: AssembledRow,
  { quarantining }: RowPlace,
): Limit | undefined {
  const keep = 'use `on_missing: ignore`, or change that';
  if (writes !== undefined && (writes.writeMode !== 'upsert' || writes.key.length === 0)) {
    return [
      'they are identified by their key, and the sink has none',
      'give the sink `write_mode: upsert` and a `key`',
    ];
  }
  if (writes !== undefined && writes.sweep !== true)
    return [`the sink \`${sink.plan.type}\` offers no way to do it`, 'use `on_missing: ignore`'];
  if (delivery === 'exactly_once')
    return [
      'the row delivers `exactly_once`',
      'use `at_least_once`: an upsert makes repeats harmless',
    ];
  if (isCut) return ['the row is cut into parts, and none of them sees everything', keep];
  const [first] = quarantining;
  return first === undefined
    ? undefined
    : [`a record that \`${first.name}\` quarantines still exists at the source`, keep];
}

export function explainCleanUp({ cleanUp }: CleanUpOfRow): readonly Fact[] {
  if (cleanUp === undefined) return [];
  const columns = Object.keys(cleanUp.scope).join(', ');
  return [
    {
      topic: 'expects',
      short: `records with ${columns} that no longer exist at the source are removed`,
      words: `After a complete read, records of the destination with the same ${columns} that were not seen are removed.`,
    },
  ];
}
