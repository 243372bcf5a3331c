/**
 * Reports the files that a run opens, so that the ledger names the run before it has ended, and
 * also when its process dies.
 */
import { localOutputsBlock } from '../../blocks/local-outputs/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { ObservedRow, ObservedRun, RunObserver } from '../../engine/observe/observer.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { OutputNews, WrittenFiles } from '../../wire/outcome.ts';

export class OpenedFiles implements RunObserver {
  readonly name = 'local outputs';
  readonly #clock: Clock;
  readonly #deliver: (news: OutputNews) => void;
  #run: ObservedRun | undefined;

  constructor(clock: Clock, deliver: (news: OutputNews) => void) {
    this.#clock = clock;
    this.#deliver = deliver;
  }

  runStarted(run: ObservedRun): void {
    this.#run = run;
  }

  filesOpened({ name, row, startedAt }: ObservedRow, outputs: WrittenFiles): void {
    if (this.#run === undefined) return;
    const { name: pipeline } = this.#run.plan;
    const localOutputs = blockOf(this.#run.plan, localOutputsBlock);
    const times = {
      started_at: startedAt.toISOString(),
      finished_at: this.#clock.now().toISOString(),
    };
    this.#deliver({
      pipeline,
      invocations: [{ row_id: name, sink: row.sink.type, outputs, ...times }],
      ...(localOutputs === undefined ? {} : { local_outputs: localOutputs }),
    });
  }
}
