/** Where the tokens of source and sink configs get their values from. */
import { joinPath } from '../../lib/text-path.ts';
import type { IssueList } from '../issue-list.ts';
import type { ParentLink } from '../plan.ts';
import { rowName, type PlannedRow } from '../planned-row.ts';
import { placeInConfig, type PartDraft } from '../part-draft.ts';
import type { RowDraft } from '../row-drafts.ts';
import { findConnectorTokens, reportLeftover, type FoundToken } from '../run-time-tokens.ts';

export function checkRowTokens(row: PlannedRow, ids: readonly string[], issues: IssueList): void {
  for (const role of ['source', 'sink'] as const) {
    const draft = row.draft[role];
    if (draft === undefined) continue;
    for (const found of row[role].tokens)
      checkToken(found, placeInConfig(draft, joinPath('', ...found.steps)), { row: row.draft, ids, issues });
  }
  if (row.draft.source !== undefined) checkOwnTokens(row.draft.source, row.source.plan.definition.ownTokens ?? [], issues);
  if (row.draft.sink !== undefined) checkOwnTokens(row.draft.sink, [], issues);
}

/** What a connector does not fill in itself nobody does. */
function checkOwnTokens(draft: PartDraft, own: readonly string[], issues: IssueList): void {
  for (const { steps, body, name } of findConnectorTokens(draft.config)) {
    if (own.includes(name)) continue;
    const message = `\`${draft.type}\` fills in no \`\${${name}}\`: \`\${${body}}\` would stay as it is`;
    issues.error('token_out_of_scope', placeInConfig(draft, joinPath('', ...steps)), message, '`$${` writes a literal `${`');
  }
}

function checkToken(
  found: FoundToken,
  path: string,
  { row, ids, issues }: { row: RowDraft; ids: readonly string[]; issues: IssueList },
): void {
  if (found.token.kind !== 'path' || reportLeftover(found, path, issues)) return;
  const { root } = found.token;
  if (root === row.parent?.row) return;
  if (!ids.includes(root)) {
    const hint = issues.hintFor(root, ids, 'rows are') ?? '`$${` writes a literal `${`';
    issues.error('unknown_row', path, `\`\${${found.body}}\` names no row, and is no other token either`, hint);
    return;
  }
  const message = `${rowName(row)} has no record of row \`${root}\` to fill in \`\${${found.body}}\``;
  issues.error('token_out_of_scope', path, message, `give the row \`parent: ${root}\``);
}

/** What a child needs of its parent's records. */
export function parentLinkOf(row: PlannedRow): ParentLink | undefined {
  const { parent } = row.draft;
  if (parent === undefined) return undefined;
  const paths = [...row.source.tokens, ...row.sink.tokens].flatMap(({ token }) => (token.kind === 'path' ? [token.path] : []));
  const all = [...paths, parent.key];
  if (all.includes('')) return { ...parent, fields: 'record' };
  return { ...parent, fields: [...new Set(all.map((path) => path.split('.')[0] ?? path))] };
}
