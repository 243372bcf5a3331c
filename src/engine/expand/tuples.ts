/**
 * A product row runs once for each tuple of the cartesian product of the values that its fan-out
 * rows list.
 */
import { RunError } from '../../lib/errors.ts';
import { canonicalJson, jsonText, type JsonValue } from '../../lib/text/json.ts';
import type { Expansion } from './expansion.ts';
import { dimensionPartOf, type Iteration } from './iteration.ts';

/** The most tuples that one row may run for. */
export const MAX_PRODUCT = 10_000;

/** What a fan-out row has found. */
export interface ValueLists {
  readonly alias: string;
  /** The rows for whose tuples it has a list each; none when there is one list. */
  readonly forEach: readonly string[];
  /** By the tuple that a list belongs to. */
  readonly lists: ReadonlyMap<string, readonly JsonValue[]>;
}

interface Product {
  readonly id: string;
  readonly forEach: readonly string[];
  /** Fan-out rows of whose lists each tuple gets its own, as one text. */
  readonly collected: readonly string[];
}

/**
 * Throws `RunError` before any tuple starts, when there are too many or two would share a state
 * key.
 */
export function tupleExpansion(
  { id, forEach, collected }: Product,
  found: ReadonlyMap<string, ValueLists>,
): Expansion {
  const dimensions = forEach.map((row) => dimensionOf(row, found));
  const size = dimensions.reduce((count, { values }) => count * values.length, 1);
  if (size > MAX_PRODUCT) {
    const sizes = dimensions.map(({ row, values }) => `${values.length} of \`${row}\``).join(' × ');
    throw new RunError(
      'Config',
      'product_too_large',
      `row \`${id}\` would run ${size} times: ${sizes}; ${MAX_PRODUCT} are possible`,
      {
        hint: 'let the fan-out rows list fewer values, or name fewer of them in `for_each`',
      },
    );
  }
  for (const dimension of dimensions) refuseEqualTexts(id, dimension);
  const lists = collected.map((row) => ({ row, ...listsOf(row, found) }));
  return {
    size,
    idle: `${dimensions
      .filter(({ values }) => values.length === 0)
      .map(({ row }) => `\`${row}\``)
      .join(' and ')} listed no values`,
    *iterations() {
      for (const tuple of product(dimensions)) yield turnOf(dimensions, tuple, lists);
    },
  };
}

interface Dimension {
  readonly row: string;
  readonly alias: string;
  readonly values: readonly JsonValue[];
}

function dimensionOf(row: string, found: ReadonlyMap<string, ValueLists>): Dimension {
  const { alias, lists } = listsOf(row, found);
  return { row, alias, values: lists.get(tupleId([], new Map())) ?? [] };
}

function listsOf(row: string, found: ReadonlyMap<string, ValueLists>): ValueLists {
  const lists = found.get(row);
  if (lists === undefined) throw new Error(`cannot happen: nothing was listed by ${row}`);
  return lists;
}

/** Names the tuple that an iteration has of some rows. */
export function tupleId(forEach: readonly string[], records: Iteration['records']): string {
  return canonicalJson(forEach.map((row) => records.get(row) ?? null));
}

/** The number 1 and the text "1" are two values, but one state key. */
function refuseEqualTexts(id: string, { row, alias, values }: Dimension): void {
  const seen = new Set<string>();
  for (const value of values) {
    const text = jsonText(value);
    if (seen.has(text)) {
      throw new RunError(
        'Config',
        'duplicate_state_key',
        `row \`${id}\`: two values of \`${row}\` are written the same: ${alias}=${text}`,
        {
          hint: 'let the source give every value in one type',
        },
      );
    }
    seen.add(text);
  }
}

function turnOf(
  dimensions: readonly Dimension[],
  tuple: readonly JsonValue[],
  collected: readonly (ValueLists & { readonly row: string })[],
): Iteration {
  const texts = dimensions.map(
    ({ alias }, index) => [alias, jsonText(tuple[index] ?? null)] as const,
  );
  const records = new Map<string, JsonValue>(
    dimensions.map(({ row, alias }, index) => [row, { [alias]: tuple[index] ?? null }]),
  );
  for (const { row, alias, forEach, lists } of collected) {
    const values = lists.get(tupleId(forEach, records)) ?? [];
    records.set(row, { [alias]: values.map(jsonText).join(',') });
  }
  return {
    key: texts.map(([alias, text]) => `${alias}=${text}`).join('&'),
    keyPart: texts.map(([alias, text]) => `${alias}=${dimensionPartOf(text)}`).join('&'),
    chunk: undefined,
    records,
    parent: undefined,
  };
}

/** Every combination, the last dimension changing fastest. */
function* product(dimensions: readonly Dimension[]): Generator<readonly JsonValue[]> {
  const [first, ...rest] = dimensions;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const value of first.values) for (const others of product(rest)) yield [value, ...others];
}
