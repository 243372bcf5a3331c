/** Rows must not replace each other's files. */
import { normalize } from 'node:path';
import { joinPath } from '../../lib/text-path.ts';
import type { ValueList } from '../for-each.ts';
import type { IssueList } from '../issue-list.ts';
import type { PlannedPart } from '../plan-part.ts';
import { rowName, type PlannedRow } from '../planned-row.ts';
import { replacedFile, type SinkDefinition } from '../../kit/sink.ts';

interface Output {
  readonly file: string;
  readonly replaces: boolean;
  /** What its config names in tokens. */
  readonly named: ReadonlySet<string>;
  readonly path: string;
  readonly owner: string;
  /** Of a matrix row, which may be the only one of those that write the file to get that far. */
  readonly mayBeAlone: boolean;
}

/**
 * Two rows of a matrix that replace one file are a doubt: one of them may fail or be skipped before it writes. Of those that do not, the
 * second one fails (`engine/output-claims.ts`). What cannot but clash is an error.
 */
export function checkOutputs(rows: readonly PlannedRow[], lists: ReadonlyMap<string, ValueList>, issues: IssueList): void {
  const taken = new Map<string, Output>();
  // In a circle nobody can say which row is the child.
  const inCircle = issues.errors.some((issue) => issue.code === 'dependency_cycle');
  for (const row of rows) {
    for (const output of outputsOf(row)) {
      const other = taken.get(output.file);
      if (other === undefined) taken.set(output.file, output);
      // Two rows of one id are told as that.
      else if (other.owner !== output.owner && (output.replaces || other.replaces)) {
        const message = `${output.owner} and ${other.owner} write the same file \`${output.file}\``;
        const hint = 'give each a file of its own, or let both append';
        if (output.mayBeAlone && other.mayBeAlone) issues.warn('output_clash', output.path, message, hint);
        else issues.error('output_clash', output.path, message, hint);
      }
      if (!inCircle && output.replaces) refuseSharing(output, timesOf(row.draft, lists), issues);
    }
    refuseOwnSource(row, issues);
    warnAboutReplacing(row, issues);
  }
}

/** The invocations of one row must not replace each other's file: whatever tells them apart has to stand in the path. */
function refuseSharing(output: Output, times: readonly Times[], issues: IssueList): void {
  const shared = times.find(({ name }) => !output.named.has(name));
  if (shared === undefined) return;
  const message = `${output.owner} runs once ${shared.per}, and each invocation would replace the file \`${output.file}\``;
  issues.error('output_clash', output.path, message, `put a token such as \`\${${shared.example}}\` into the path, or let it append`);
}

/** For what a row runs several times. */
interface Times {
  /** As tokens name it. */
  readonly name: string;
  readonly per: string;
  readonly example: string;
}

function timesOf({ parent, forEach, partition }: PlannedRow['draft'], lists: ReadonlyMap<string, ValueList>): Times[] {
  const ofParent = parent === undefined ? [] : [{ name: parent.row, per: 'per parent record', example: `${parent.row}.id` }];
  const ofTuple = forEach.map((id) => ({ name: id, per: `per value of \`${id}\``, example: `${id}.${lists.get(id)?.alias}` }));
  const ofChunk = partition === undefined ? [] : [{ name: 'partition', per: 'per chunk', example: 'partition.id' }];
  return [...ofParent, ...ofTuple, ...ofChunk];
}

/** A row that writes the file it reads cuts off its own source. */
export function refuseOwnSource(row: PlannedRow, issues: IssueList): void {
  const { plan, judged } = row.source;
  const read = judged === undefined ? undefined : plan.definition.localPath?.(judged);
  if (read === undefined) return;
  for (const output of outputsOf(row)) {
    if (output.file !== normalize(read)) continue;
    issues.error('output_clash', output.path, `${output.owner} writes the file it reads: \`${output.file}\``, 'write to another file');
  }
}

function outputsOf(row: PlannedRow): Output[] {
  const owner = rowName(row.draft);
  const main = outputOf(row.sink, owner, row.draft.node === undefined);
  const dead = row.dlq === undefined ? undefined : outputOf(row.dlq.sink, `the \`dlq\` of ${owner}`);
  // Dead-letter queues append: several rows may share one, but nobody may replace it.
  return [main, dead === undefined ? undefined : { ...dead, replaces: false }].filter((output) => output !== undefined);
}

function outputOf({ plan, judged, tokens }: PlannedPart<SinkDefinition>, owner: string, mayBeAlone = false): Output | undefined {
  const file = judged === undefined ? undefined : plan.definition.localPath?.(judged);
  if (file === undefined || file.startsWith('/dev/')) return undefined;
  const replaces = replacedFile(plan.definition, judged) !== undefined;
  const named = new Set(tokens.flatMap(({ token }) => (token.kind === 'path' ? [token.root] : [])));
  return { file: normalize(file), replaces, named, path: joinPath(plan.path, 'config'), owner, mayBeAlone };
}

/** With a bookmark the next run reads only what is new; a file that starts over then loses what came before. */
function warnAboutReplacing(row: PlannedRow, issues: IssueList): void {
  const output = outputOf(row.sink, rowName(row.draft));
  if (output?.replaces !== true || row.state === undefined || row.reads?.bookmarks !== true) return;
  if (row.sink.tokens.length > 0) return;
  const message = `with \`state\` the next run reads only what is new, and replaces the file \`${output.file}\` with that`;
  issues.warn('replaced_output', output.path, message, 'set `append: true`, or put `${now.date}` into the path');
}
