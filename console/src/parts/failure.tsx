import { HeadgateError } from '../../../src/client/index.ts';
import { T } from '../texts.ts';
import { Icon } from './icons.tsx';

export interface Issue {
  readonly code?: string;
  readonly path?: string;
  readonly message: string;
  readonly hint?: string;
  readonly line?: number;
  readonly column?: number;
}

/** The problems of a document that the server refused. */
export function issuesOf(error: unknown): readonly Issue[] {
  if (!(error instanceof HeadgateError)) return [];
  const { issues } = (error.details ?? {}) as { readonly issues?: unknown };
  return Array.isArray(issues) ? (issues as Issue[]) : [];
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface FailureProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
}

/** What went wrong, where, and what to do about it. */
export function Failure({ error, onRetry }: FailureProps) {
  const hint = error instanceof HeadgateError ? error.hint : undefined;
  const issues = issuesOf(error);
  return (
    <div class="failure" role="alert">
      <p>
        <Icon name="warning" /> {messageOf(error)}
      </p>
      {hint === undefined ? null : <p class="muted">{hint}</p>}
      {issues.length === 0 ? null : <IssueList issues={issues} />}
      {onRetry === undefined ? null : (
        <button type="button" onClick={onRetry}>
          {T.common.retry}
        </button>
      )}
    </div>
  );
}

/** More than this nobody reads; the rest stands in the text itself. */
const SHOWN = 200;

interface IssueListProps {
  readonly issues: readonly Issue[];
  readonly onPick?: (issue: Issue) => void;
}

export function IssueList({ issues, onPick }: IssueListProps) {
  return (
    <ul class="issues">
      {issues.slice(0, SHOWN).map((issue, index) => (
        <li key={index}>
          {onPick === undefined || issue.line === undefined ? (
            <span class="place">{placeOf(issue)}</span>
          ) : (
            <button type="button" class="place link" onClick={() => onPick(issue)}>
              {placeOf(issue)}
            </button>
          )}{' '}
          {issue.message}
          {issue.hint === undefined ? null : <span class="muted"> – {issue.hint}</span>}
        </li>
      ))}
    </ul>
  );
}

function placeOf({ line, path = '' }: Issue): string {
  const where = path.replace(/^\//, '').replaceAll('/', '.');
  return [line === undefined ? '' : T.common.line(line), where]
    .filter((part) => part !== '')
    .join(', ');
}
