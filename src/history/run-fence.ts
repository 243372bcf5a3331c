/** Identifies one execution: a write with an older fence is refused. */
export interface RunFence {
  readonly run_id: string;
  readonly owner: string;
  readonly attempt: number;
}
