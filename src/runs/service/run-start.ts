/** The start of one run in the history: recorded once, and undone where it came too early. */
import type { RunFence } from '../../history/history.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import type { HistoryHealth } from './history-health.ts';

export interface RunStartServices {
  readonly env: Pick<Env, 'clock' | 'log'>;
  readonly health: HistoryHealth;
  /** Fires when the service gives up recording. */
  readonly giveUp: AbortSignal;
  /** It took so long until the start of a run was on record. */
  readonly noteStart: (ms: number) => void;
}

export class RunStart {
  readonly #fence: RunFence;
  readonly #services: RunStartServices;
  #at: string | null;
  /** It is on record, or about to be; false when the run is not ours any more. */
  #recording: Promise<boolean> | undefined;
  /** What was recorded too early is being undone. */
  #undoing: Promise<void> | undefined;

  /** `at`: when it started, where whoever claimed it recorded that. */
  constructor(fence: RunFence, at: string | null, services: RunStartServices) {
    this.#fence = fence;
    this.#services = services;
    this.#at = at;
    if (at !== null) this.#recording = Promise.resolve(true);
  }

  /** Null while it is not on record. */
  get at(): string | null {
    return this.#at;
  }

  /** It is on record, or about to be. */
  get isAsked(): boolean {
    return this.#recording !== undefined;
  }

  /** Once. False when the run is not ours (any more). Never rejects. */
  record(): Promise<boolean> {
    this.#recording ??= this.#record();
    return this.#recording;
  }

  /** The run waits again. Never rejects. */
  async undo(): Promise<void> {
    const recorded = this.#recording;
    if (recorded === undefined) return;
    this.#undoing = this.#undo(recorded);
    this.#recording = undefined;
    await this.#undoing;
  }

  /** Resolves when it is known whether it is on record. */
  async settled(): Promise<void> {
    await this.#recording;
    await this.#undoing;
  }

  async #record(): Promise<boolean> {
    const { env, health, giveUp, noteStart } = this.#services;
    const { run_id } = this.#fence;
    await this.#undoing;
    const at = env.clock.now().toISOString();
    const asked = env.clock.elapsedMs();
    try {
      const isOurs = await health.insist((history) => history.startRun(this.#fence, at), giveUp);
      noteStart(env.clock.elapsedMs() - asked);
      if (isOurs) this.#at = at;
      else
        env.log.warn('a run was not started: its record belongs to somebody else or has ended', {
          run_id,
        });
      return isOurs;
    } catch (error) {
      env.log.error('a run could not be started', { run_id, error: messageOf(error) });
      return false;
    }
  }

  async #undo(recorded: Promise<boolean>): Promise<void> {
    const { env, health, giveUp } = this.#services;
    if (!(await recorded)) return;
    try {
      await health.insist((history) => history.returnToQueue(this.#fence), giveUp);
      this.#at = null;
    } catch (error) {
      env.log.error('a run that was started could not be put back into the queue', {
        run_id: this.#fence.run_id,
        error: messageOf(error),
      });
    }
  }
}
