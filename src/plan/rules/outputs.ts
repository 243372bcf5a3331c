/** Rows must not replace each other's files and tables. */
import { normalize } from 'node:path';
import { inOneSpelling } from '../../lib/http/local-address.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { ValueList } from '../for-each.ts';
import type { IssueList } from '../issue-list.ts';
import type { AssembledPart } from '../plan-part.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';
import { outputOf, partsMeet, replacedOutput, type SinkDefinition } from '../../kit/sink.ts';

interface Output {
  /** Its path in the document. */
  readonly place: string;
  /** As shown to people. */
  readonly name: string;
  readonly isFile: boolean;
  readonly replaces: boolean;
  /** Of what it replaces; all of it when absent. */
  readonly part: string | undefined;
  /** What its config names in tokens. */
  readonly named: ReadonlySet<string>;
  readonly path: string;
  readonly owner: string;
  /** Of a matrix row, which may be the only one of those that write the file to get that far. */
  readonly mayBeAlone: boolean;
}

/**
 * Two rows of a matrix that replace one file are a doubt: one of them may fail or be skipped before
 * it writes. Of those that do not, the second one fails (`engine/row/output-claims.ts`). What
 * cannot but clash is an error.
 */
export function checkOutputs(
  rows: readonly AssembledRow[],
  lists: ReadonlyMap<string, ValueList>,
  issues: IssueList,
): void {
  const taken = new Map<string, Output[]>();
  // In a cycle no row is the child of the other.
  const inCircle = issues.errors.some((issue) => issue.code === 'dependency_cycle');
  for (const row of rows) {
    for (const output of outputsOf(row)) {
      const others = taken.get(output.place) ?? [];
      const other = others.find((one) => clash(one, output));
      if (other !== undefined) {
        const message = `${output.owner} and ${other.owner} write the same ${output.name}`;
        const hint = `give each ${output.isFile ? 'a file' : 'one'} of its own, or let both append`;
        if (output.mayBeAlone && other.mayBeAlone)
          issues.warn('output_clash', output.path, message, hint);
        else issues.error('output_clash', output.path, message, hint);
      }
      taken.set(output.place, [...others, output]);
      if (!inCircle && output.replaces) refuseSharing(output, timesOf(row.resolved, lists), issues);
    }
    refuseOwnSource(row, issues);
    warnAboutReplacing(row, issues);
  }
}

function clash(one: Output, other: Output): boolean {
  // Two rows with one id are reported elsewhere.
  if (one.owner === other.owner) return false;
  if (one.replaces && other.replaces) return partsMeet(one, other);
  // What is added beside a part need not lie in it.
  return [one, other].some(({ replaces, part }) => replaces && part === undefined);
}

/**
 * The invocations of one row must not replace each other's file: whatever tells them apart has to
 * stand in the path.
 */
function refuseSharing(output: Output, times: readonly Times[], issues: IssueList): void {
  const shared = times.find(({ name }) => !output.named.has(name));
  if (shared === undefined) return;
  const message = `${output.owner} runs once ${shared.per}, and each invocation would replace the ${output.name}`;
  const place = output.isFile ? 'the path' : 'its name';
  const token =
    shared.example === undefined
      ? ''
      : `put a token such as \`\${${shared.example}}\` into ${place}, or `;
  issues.error('output_clash', output.path, message, `${token}let it append`);
}

/** For what a row runs several times. */
interface Times {
  /** As tokens name it. */
  readonly name: string;
  readonly per: string;
  /** A token that distinguishes them; absent when there is none. */
  readonly example?: string;
}

function timesOf(
  { parent, forEach, cuts }: AssembledRow['resolved'],
  lists: ReadonlyMap<string, ValueList>,
): Times[] {
  const ofParent =
    parent === undefined
      ? []
      : [{ name: parent.row, per: 'per parent record', example: `${parent.row}.id` }];
  const ofTuple = forEach.map((id) => ({
    name: id,
    per: `per value of \`${id}\``,
    example: `${id}.${lists.get(id)?.alias}`,
  }));
  return [...ofParent, ...ofTuple, ...cuts];
}

/** A row that writes the file it reads cuts off its own source. */
export function refuseOwnSource(row: AssembledRow, issues: IssueList): void {
  const { plan, judged } = row.source;
  const read = judged === undefined ? undefined : plan.definition.localPath?.(judged);
  if (read === undefined) return;
  for (const output of outputsOf(row)) {
    if (output.place !== normalize(read)) continue;
    issues.error(
      'output_clash',
      output.path,
      `${output.owner} writes the file it reads: \`${output.place}\``,
      'write to another file',
    );
  }
}

function outputsOf(row: AssembledRow): Output[] {
  const owner = rowName(row.resolved);
  const main = placeOf(row.sink, owner, row.resolved.node === undefined);
  const dead = row.dlq === undefined ? undefined : placeOf(row.dlq.sink, `the \`dlq\` of ${owner}`);
  // Dead-letter queues append: several rows may share one, but none may replace it.
  return [main, dead === undefined ? undefined : { ...dead, replaces: false }].filter(
    (output) => output !== undefined,
  );
}

function placeOf(
  { plan, judged, tokens }: AssembledPart<SinkDefinition>,
  owner: string,
  mayBeAlone = false,
): Output | undefined {
  if (judged === undefined) return undefined;
  const replaced = replacedOutput(plan.definition, judged);
  const output = outputOf(plan.definition, judged);
  if (output.startsWith('/dev/')) return undefined;
  const isFile = plan.definition.localPath?.(judged) !== undefined;
  const named = new Set(tokens.flatMap(({ token }) => (token.kind === 'path' ? [token.root] : [])));
  const place = isFile ? normalize(output) : inOneSpelling(output);
  const whole = replaced?.part === undefined ? place : `${place}, ${replaced.part}`;
  const name = isFile ? `file \`${place}\`` : `data set \`${whole}\``;
  const replaces = replaced !== undefined;
  return {
    place,
    name,
    isFile,
    replaces,
    part: replaced?.part,
    named,
    path: joinPath(plan.path, 'config'),
    owner,
    mayBeAlone,
  };
}

/**
 * With a bookmark the next run reads only what is new; a file that starts over then loses what came
 * before.
 */
function warnAboutReplacing(row: AssembledRow, issues: IssueList): void {
  const output = placeOf(row.sink, rowName(row.resolved));
  if (output?.replaces !== true || row.state === undefined || row.reads?.bookmarks !== true) return;
  if (row.sink.tokens.length > 0) return;
  const message = `with \`state\` the next run reads only what is new, and replaces the ${output.name} with that`;
  const hint = output.isFile
    ? 'set `append: true`, or put `${now.date}` into the path'
    : 'use `write_mode: append`, or `upsert`';
  issues.warn('replaced_output', output.path, message, hint);
}
