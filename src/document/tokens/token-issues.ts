import type { Issue } from '../../lib/errors.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { isFull } from '../text/locate.ts';
import type { Report } from './param-tokens.ts';

/** The place that tokens are filled in at, and the issues that were found there. */
export class TokenIssues {
  readonly issues: Issue[] = [];
  /** Of the declaration of parameters, and of their use. */
  readonly paramIssues: Issue[] = [];
  place: (string | number)[] = [];

  get count(): number {
    return this.issues.length + this.paramIssues.length;
  }

  get path(): string {
    return joinPath('', ...this.place);
  }

  readonly report: Report = (code, message, hint) => {
    if (!isFull(this.issues)) this.issues.push(this.#issue(code, message, hint));
  };

  readonly reportParam: Report = (code, message, hint) => {
    if (!isFull(this.paramIssues)) this.paramIssues.push(this.#issue(code, message, hint));
  };

  #issue(code: string, message: string, hint?: string): Issue {
    const issue = { code, path: this.path, message };
    return hint === undefined ? issue : { ...issue, hint };
  }
}
