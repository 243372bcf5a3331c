/** One named preflight check of one thing that can be wrong. */
export interface Probe {
  /**
   * `read`, `io`, `auth`, `connect`, `network`, `schema`, `query`, `sentinel`, `construct`,
   * `timeout`, `check`.
   */
  readonly name: string;
  readonly status: 'pass' | 'fail' | 'skip';
  /** Present on `fail` and `skip`; redacted before it leaves the process. */
  readonly reason?: string;
  /** What to do about a failure. */
  readonly hint?: string;
  /** Whole milliseconds. */
  readonly elapsed_ms: number;
}

export type ProbeFinding = Omit<Probe, 'elapsed_ms'>;
