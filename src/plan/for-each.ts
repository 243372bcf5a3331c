/**
 * Rows that list values, and the rows that run once for each tuple of them (spec 2.8, rules 3 and
 * 4).
 */
import { joinPath } from '../lib/text/text-path.ts';
import type { FanOutSpec } from '../document/structure/fan-out.ts';
import type { Placed, ParsedRow } from '../document/parse/read-blocks.ts';
import type { IssueList } from './issue-list.ts';
import type { Resolving } from './resolve-part.ts';

/** What other rows see of a row that lists values. */
export interface ValueList {
  readonly alias: string;
  /** It has one list for each tuple of the rows it is for, given as one text. */
  readonly collect: boolean;
  readonly forEach: readonly string[];
  /** What it lists could not be read: what others make of it is not judged. */
  readonly isFaulty?: true;
}

/** The block under either of its names. */
export function fanOutOf({ path, spec }: ParsedRow): Placed<FanOutSpec> | undefined {
  if (spec.fan_out !== undefined) return { path: joinPath(path, 'fan_out'), value: spec.fan_out };
  return spec.discover === undefined
    ? undefined
    : { path: joinPath(path, 'discover'), value: spec.discover };
}

/** Whether the values are one list for each tuple, and where that is written. */
export function collectOf(
  row: ParsedRow,
): { readonly path: string; readonly value: boolean } | undefined {
  if (row.spec.collect !== undefined)
    return { path: joinPath(row.path, 'collect'), value: row.spec.collect };
  const list = fanOutOf(row);
  const value = list?.value.collect;
  return value === undefined ? undefined : { path: joinPath(list?.path ?? '', 'collect'), value };
}

/** Keys of a row that say something about records, which a fan-out row does not move. */
const MOVING = [
  'parent',
  'parent_key',
  'source',
  'sink',
  'transforms',
  'inherit_transforms',
] as const;

/** Checks the keys of a row about fan-outs against each other. */
export function checkFanOut(
  row: ParsedRow,
  id: string,
  { definitions, issues }: Pick<Resolving, 'definitions' | 'issues'>,
): void {
  const { path, spec } = row;
  if (row.hasFaultyList === true) return;
  const isList = fanOutOf(row) !== undefined;
  const iterates = (spec.for_each ?? []).length > 0;
  if (spec.fan_out !== undefined && spec.discover !== undefined) {
    issues.error(
      'conflicting_keys',
      joinPath(path, 'discover'),
      '`discover` is another name of `fan_out`: both say the same',
      'keep `fan_out`',
    );
  }
  if (isList) {
    const ofBlocks = definitions.flatMap(({ name, inRows }) =>
      inRows === undefined ? [] : [name],
    );
    for (const key of [...MOVING, ...ofBlocks]) {
      if (spec[key] === undefined || spec[key] === null) continue;
      const message = `the fan-out row \`${id}\` lists values and moves no records, so it cannot have \`${key}\``;
      issues.error('conflicting_keys', joinPath(path, key), message, hintAgainst(key));
    }
    const collect = collectOf(row);
    const inner = fanOutOf(row);
    if (spec.collect !== undefined && inner?.value.collect !== undefined) {
      const message = '`collect` stands in the row as well';
      issues.error(
        'conflicting_keys',
        joinPath(inner.path, 'collect'),
        message,
        'keep one of them',
      );
    }
    if (iterates && collect?.value !== true) {
      const message = `the fan-out row \`${id}\` has \`for_each\`, so it gives one list for each tuple`;
      issues.error('missing_key', path, message, 'say so with `collect: true`');
    }
    if (collect?.value === true && !iterates) {
      issues.error(
        'missing_key',
        collect.path,
        '`collect` makes one list for each tuple of `for_each`, which the row does not have',
      );
    }
    return;
  }
  if (spec.collect !== undefined) {
    issues.error(
      'conflicting_keys',
      joinPath(path, 'collect'),
      '`collect` says nothing in a row without `fan_out`',
      'remove the key',
    );
  }
  if (iterates && spec.parent !== undefined) {
    const message = `row \`${id}\` cannot run both for each record of \`${spec.parent}\` and for each tuple of \`for_each\``;
    issues.error(
      'conflicting_keys',
      joinPath(path, 'for_each'),
      message,
      'keep `parent` or `for_each`',
    );
  }
}

function hintAgainst(key: string): string {
  if (key === 'source') return 'what the values are read from is `fan_out.source`';
  if (key === 'parent' || key === 'parent_key')
    return 'use `for_each` with `collect: true` to read once for each value of another fan-out row';
  return 'remove the key; rows that name this one in `for_each` may have it';
}

/**
 * The dimensions of a row, in order; entries that are no list of values are reported and left out.
 */
export function readForEach(
  row: ParsedRow,
  id: string,
  lists: ReadonlyMap<string, ValueList>,
  issues: IssueList,
): string[] {
  const dimensions: string[] = [];
  for (const [index, target] of (row.spec.for_each ?? []).entries()) {
    const path = joinPath(row.path, 'for_each', index);
    const list = lists.get(target);
    if (target === id) issues.error('dependency_cycle', path, `row \`${id}\` refers to itself`);
    else if (dimensions.includes(target)) {
      issues.error(
        'duplicate_name',
        path,
        `\`${target}\` is listed twice in \`for_each\``,
        'keep one; a tuple has one value of each fan-out row',
      );
    } else if (list === undefined) {
      const hint =
        issues.hintFor(target, lists.keys(), 'fan-out rows are') ??
        'give a row `fan_out`, and name that one';
      issues.error('unknown_row', path, `there is no fan-out row \`${target}\``, hint);
    } else if (list.collect) {
      const message = `\`${target}\` gives one list for each of its own tuples, so it is no dimension`;
      issues.error(
        'conflicting_keys',
        path,
        message,
        `name \`${list.forEach.join('`, `')}\`, and use \`\${${target}.${list.alias}}\``,
      );
    } else dimensions.push(target);
  }
  return dimensions;
}
