import type { Issue } from '../lib/errors.ts';

/** Everything found so far. The same finding at the same place is kept once, however many rows share the place. */
export class IssueList {
  readonly errors: Issue[] = [];
  readonly warnings: Issue[] = [];
  readonly #seen = new Set<string>();

  error(code: string, path: string, message: string, hint?: string): void {
    this.add({ code, path, message, ...(hint === undefined ? {} : { hint }) });
  }

  add(issue: Issue): void {
    if (this.#isNew('error', issue)) this.errors.push(issue);
  }

  warn(code: string, path: string, message: string, hint?: string): void {
    const issue = { code, path, message, ...(hint === undefined ? {} : { hint }) };
    if (this.#isNew('warning', issue)) this.warnings.push(issue);
  }

  #isNew(severity: string, issue: Issue): boolean {
    const key = `${severity} ${issue.code} ${issue.path} ${issue.message}`;
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }
}
