import { Worker } from 'node:worker_threads';
import { programFile } from '../../lib/program-file.ts';
import type { ChunkShape } from './csv-chunk.ts';
import type { ThreadAnswer, ThreadTask } from './csv-thread.ts';

/** Parts on their way for each member: one is converted while the next one waits. */
const PARTS_A_MEMBER = 2;

/** Converts parts one after the other, somewhere else. */
export interface TeamMember {
  convert(task: ThreadTask): Promise<ThreadAnswer>;
  stop(): Promise<void>;
}

/** Several that convert parts of a file, and the answers still to come, in the order of the file. */
export class CsvTeam implements AsyncDisposable {
  readonly #members: readonly TeamMember[];
  readonly #coming: Promise<ThreadAnswer>[] = [];
  #asked = 0;

  constructor(members: readonly TeamMember[]) {
    this.#members = members;
  }

  /** Asks for as many parts as the members can be busy with; `roomFor` brings memory for the lines of each. */
  async *answers(parts: AsyncIterator<Uint8Array<ArrayBuffer>>, roomFor: () => ArrayBuffer | undefined): AsyncGenerator<ThreadAnswer> {
    let more = true;
    for (;;) {
      while (more && this.#coming.length < this.#members.length * PARTS_A_MEMBER) {
        const next = await parts.next();
        if (next.done === true) more = false;
        else this.#ask({ chunk: next.value, room: roomFor() });
      }
      const answer = this.#coming.shift();
      if (answer === undefined) return;
      yield await answer;
    }
  }

  /** Takes back the parts whose answers nobody has seen. */
  async leave(): Promise<Uint8Array<ArrayBuffer>[]> {
    const answers = await Promise.all(this.#coming.splice(0));
    return answers.map(({ chunk }) => chunk);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#members.map((member) => member.stop()));
  }

  #ask(task: ThreadTask): void {
    const member = this.#members[this.#asked % this.#members.length];
    if (member === undefined) throw new Error('cannot happen: a team has at least one member');
    this.#asked += 1;
    const answer = member.convert(task);
    // A failure is told when its turn comes; until then it must not count as unhandled.
    answer.catch(() => {});
    this.#coming.push(answer);
  }
}

/** A thread. It answers in the order in which it is asked. */
export class CsvThread implements TeamMember {
  readonly #worker: Worker;
  readonly #waiting: PromiseWithResolvers<ThreadAnswer>[] = [];

  constructor(shape: ChunkShape) {
    this.#worker = new Worker(programFile('connectors/_files/csv-thread'), { workerData: shape });
    this.#worker.on('message', (answer: ThreadAnswer) => this.#waiting.shift()?.resolve(answer));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('a thread ended before it had answered')));
  }

  convert(task: ThreadTask): Promise<ThreadAnswer> {
    const answer = Promise.withResolvers<ThreadAnswer>();
    this.#waiting.push(answer);
    this.#worker.postMessage(task, task.room === undefined ? [task.chunk.buffer] : [task.chunk.buffer, task.room]);
    return answer.promise;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(error: unknown): void {
    for (const answer of this.#waiting.splice(0)) answer.reject(error);
  }
}
