import type { RunEvent } from '../../wire/run-event.ts';

/**
 * Asks the server whether the run of this job is still its own. A server that is frozen answers when
 * it goes on; one that is gone ends this process.
 */
export class OwnerQuestions {
  readonly #send: (event: RunEvent) => void;
  readonly #open = new Map<number, (isOwned: boolean) => void>();
  #asked = 0;

  constructor(send: (event: RunEvent) => void) {
    this.#send = send;
  }

  ask(): Promise<boolean> {
    this.#asked += 1;
    const question = this.#asked;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#open.set(question, resolve);
    this.#send({ kind: 'asks_owner', question });
    return promise;
  }

  answered({ question, isOwned }: { readonly question: number; readonly isOwned: boolean }): void {
    this.#open.get(question)?.(isOwned);
    this.#open.delete(question);
  }
}
