import { renderNow, type RunClock } from '../../document/tokens/now-tokens.ts';
import { classify, restoreEscapes, rewriteTokens } from '../../document/tokens/tokens.ts';

export interface JobNaming {
  readonly name: string;
  readonly rowId: string;
  readonly now: RunClock;
  readonly isGraph: boolean;
}

/** `template` was checked when the document was loaded. */
export function jobName(
  template: string | undefined,
  { name, rowId, now, isGraph }: JobNaming,
): string {
  if (template === undefined) return isGraph ? `${name}.${rowId}` : `${name}::${rowId}`;
  const replace = (body: string): string => {
    const token = classify(body);
    if (token.kind === 'now') return renderNow(token.name, now);
    return token.kind === 'path' && token.root === 'name' ? name : rowId;
  };
  return restoreEscapes(rewriteTokens(template, { replace, tooDeep: () => undefined }));
}
