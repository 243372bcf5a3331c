import type { Issue } from '../lib/errors.ts';
import { nearest } from '../lib/text/nearest.ts';
import { isFull } from '../document/text/locate.ts';

const ERRORS_WITH_HINTS = 50;
const LISTED = 20;

/**
 * Everything found so far. The same finding at the same place is kept once, however many rows share
 * the place.
 */
export class IssueList {
  readonly errors: Issue[] = [];
  readonly warnings: Issue[] = [];
  readonly #seen = new Set<string>();

  error(code: string, path: string, message: string, hint?: string): void {
    this.add({ code, path, message, ...(hint === undefined ? {} : { hint }) });
  }

  add(issue: Issue): void {
    if (!isFull(this.errors) && this.#isNew('error', issue)) this.errors.push(issue);
  }

  warn(code: string, path: string, message: string, hint?: string): void {
    const issue = { code, path, message, ...(hint === undefined ? {} : { hint }) };
    if (!isFull(this.warnings) && this.#isNew('warning', issue)) this.warnings.push(issue);
  }

  /** Such an error was found at exactly this place. */
  has(code: string, path: string): boolean {
    return this.errors.some((error) => error.code === code && error.path === path);
  }

  /**
   * `did you mean …?` or what there is. Among very many errors hints are left out: they would cost
   * more than they help.
   */
  hintFor(word: string, known: Iterable<string>, noun = 'there are'): string | undefined {
    if (this.errors.length > ERRORS_WITH_HINTS) return undefined;
    const names = [...new Set(known)];
    const near = nearest(word, names);
    if (near !== undefined) return `did you mean \`${near}\`?`;
    if (names.length === 0) return undefined;
    const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : '';
    return `${noun}: ${names.slice(0, LISTED).join(', ')}${more}`;
  }

  #isNew(severity: string, issue: Issue): boolean {
    const key = `${severity} ${issue.code} ${issue.path} ${issue.message}`;
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }
}
