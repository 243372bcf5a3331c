import type { Parts } from '../../kit/parts.ts';
import { check } from '../../kit/schema.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { ParsedBlocks } from '../../document/parse/read-blocks.ts';
import type { IssueList } from '../issue-list.ts';
import type { Plan } from '../plan.ts';
import { placeInConfig, type ResolvedPart } from '../resolve-part.ts';

/** Every declared login is checked, used or not; none is asked for a token. */
export function planProviders(
  { auth }: ParsedBlocks,
  parts: Parts,
  issues: IssueList,
): Plan['auth'] {
  const providers: Record<string, { readonly type: string; readonly config: JsonObject }> = {};
  for (const [name, placed] of auth) {
    if (placed === undefined) continue;
    const { type, config = {} } = placed.value;
    const definition = parts.credentials.get(type);
    if (definition === undefined) {
      issues.error(
        'unknown_type',
        joinPath(placed.path, 'type'),
        `there is no login type \`${type}\``,
        parts.credentials.suggest(type),
      );
      continue;
    }
    const checked = check(definition.config, config, joinPath(placed.path, 'config'));
    if (!checked.ok) for (const issue of checked.issues) issues.add(issue);
    providers[name] = { type, config };
  }
  return providers;
}

/**
 * A connector's `auth: {ref}` must name a declared login; whether anything may stand beside it its
 * schema says.
 */
export function checkAuthRef(
  resolved: ResolvedPart,
  { auth }: ParsedBlocks,
  issues: IssueList,
): void {
  const { auth: block } = resolved.config;
  if (!isObject(block) || !Object.hasOwn(block, 'ref')) return;
  const { ref } = block;
  const path = placeInConfig(resolved, 'auth.ref');
  if (typeof ref !== 'string' || auth.has(ref)) return;
  issues.error(
    'unknown_auth',
    path,
    `there is no login \`${ref}\` under \`auth\``,
    issues.hintFor(ref, auth.keys()),
  );
}
