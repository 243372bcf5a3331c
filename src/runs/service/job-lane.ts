import { RefusedError } from '../../lib/errors.ts';
import type { JobLimits } from '../worker/define-job.ts';

/** Where one job stands while it executes. */
export interface JobPlace {
  /** It takes long: the next may begin beside it, while there are not too many such. */
  slow(): void;
  leave(): void;
}

type LaneLimits = Pick<JobLimits, 'atOnce' | 'waiting' | 'slowAtOnce'>;

/** Jobs of one kind: so many at once, so many waiting, first come, first served. */
export class JobLane {
  readonly #word: string;
  readonly #limits: LaneLimits;
  readonly #waiting = new Set<() => void>();
  #quick = 0;
  #slow = 0;

  constructor(word: string, limits: LaneLimits) {
    this.#word = word;
    this.#limits = limits;
  }

  /** Rejects with `RefusedError` (429) when too many wait, or with the reason of the signal. */
  async enter(signal?: AbortSignal): Promise<JobPlace> {
    signal?.throwIfAborted();
    const { atOnce, waiting } = this.#limits;
    if (this.#quick >= atOnce || this.#waiting.size > 0) {
      if (this.#waiting.size >= waiting)
        throw new RefusedError(
          'queue_full',
          `${this.#quick + this.#slow} ${this.#word}s are under way`,
          { hint: 'try again when one has ended' },
        );
      await this.#turn(signal);
    } else this.#quick += 1;
    return this.#place();
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(go);
        reject(signal?.reason as Error);
      };
      const go = (): void => {
        signal?.removeEventListener('abort', leave);
        this.#quick += 1;
        resolve();
      };
      this.#waiting.add(go);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #place(): JobPlace {
    let state: 'quick' | 'slow' | 'left' = 'quick';
    return {
      slow: () => {
        if (state !== 'quick' || this.#slow >= (this.#limits.slowAtOnce ?? 0)) return;
        state = 'slow';
        this.#slow += 1;
        this.#quick -= 1;
        this.#next();
      },
      leave: () => {
        if (state === 'left') return;
        if (state === 'slow') this.#slow -= 1;
        else this.#quick -= 1;
        state = 'left';
        this.#next();
      },
    };
  }

  #next(): void {
    const [go] = this.#waiting;
    if (go === undefined || this.#quick >= this.#limits.atOnce) return;
    this.#waiting.delete(go);
    go();
  }
}
