/** Which record became which, where a stage drops some, adds some and changes others. */

export type JsonRecord = Readonly<Record<string, unknown>>;

export interface Pair {
  /** Absent: the stage made it. */
  readonly before?: unknown;
  /** Absent: the stage left it behind. */
  readonly after?: unknown;
  readonly isGone: boolean;
}

/** In the order of the records; both keep theirs. */
export function pairRecords(before: readonly unknown[], after: readonly unknown[]): Pair[] {
  if (before.length === after.length)
    return after.map((record, index) => ({
      before: before[index],
      after: record,
      isGone: false,
    }));
  return aligned(before, after);
}

/** The longest way through both lists along records that are alike. */
function aligned(before: readonly unknown[], after: readonly unknown[]): Pair[] {
  const likeness = before.map((one) => after.map((other) => alike(one, other)));
  const best = Array.from({ length: before.length + 1 }, () =>
    Array.from({ length: after.length + 1 }, () => 0),
  );
  const at = (row: number, column: number): number => best[row]?.[column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const paired = at(row + 1, column + 1) + (likeness[row]?.[column] ?? 0);
      const cells = best[row];
      if (cells !== undefined)
        cells[column] = Math.max(at(row + 1, column), at(row, column + 1), paired);
    }
  const pairs: Pair[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const alikeHere = likeness[row]?.[column] ?? 0;
    if (
      row < before.length &&
      column < after.length &&
      alikeHere > 0 &&
      at(row, column) === at(row + 1, column + 1) + alikeHere
    ) {
      pairs.push({ before: before[row], after: after[column], isGone: false });
      row += 1;
      column += 1;
    } else if (row < before.length && at(row, column) === at(row + 1, column)) {
      pairs.push({ before: before[row], isGone: true });
      row += 1;
    } else {
      pairs.push({ after: after[column], isGone: false });
      column += 1;
    }
  }
  return pairs;
}

/** The share of fields with one value; 0: not the same record. */
function alike(one: unknown, other: unknown): number {
  if (!isRecord(one) || !isRecord(other)) return sameValue(one, other) ? 1 : 0;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  if (names.size === 0) return 1;
  const same = [...names].filter((name) => sameValue(one[name], other[name])).length;
  return same * 2 >= names.size ? same / names.size : 0;
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function sameValue(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Fields of all records, in order of appearance. */
export function fieldsOf(records: readonly unknown[]): string[] {
  return [
    ...new Set(records.flatMap((record) => (isRecord(record) ? Object.keys(record) : [VALUE]))),
  ];
}

/** The name of the only column of records that are no objects. */
const VALUE = 'value';

export function cellAt(record: unknown, field: string): unknown {
  if (isRecord(record)) return record[field];
  return field === VALUE ? record : undefined;
}
