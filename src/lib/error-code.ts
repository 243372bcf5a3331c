/** What the reference says of a stable code. */
export interface ErrorCode {
  readonly cause: string;
  /** What to do, as the rest of a hint: no capital, no full stop. */
  readonly cure: string;
}

export const code = (cause: string, cure: string): ErrorCode => ({ cause, cure });
