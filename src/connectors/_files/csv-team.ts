import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { programFile } from '../../lib/program-file.ts';
import { CsvChunkConverter, type ChunkAnswer, type ChunkShape, type ChunkTask } from './csv-chunk.ts';

/** Parts on their way for each member: one is converted while the next one waits. */
const PARTS_A_MEMBER = 2;

/** Converts parts one after the other. */
export interface TeamMember {
  /** Parts it has been asked for and not given yet. */
  readonly busy: number;
  convert(task: ChunkTask): Promise<ChunkAnswer>;
  stop(): Promise<void>;
}

/** Several that convert parts of a file, and the answers still to come, in the order of the file. */
export class CsvTeam implements AsyncDisposable {
  readonly #members: readonly TeamMember[];
  readonly #coming: Promise<ChunkAnswer>[] = [];

  constructor(members: readonly TeamMember[]) {
    this.#members = members;
  }

  /** Asks for as many parts as the members can be busy with; `roomFor` brings memory for the lines of each. */
  async *answers(parts: AsyncIterator<Uint8Array<ArrayBuffer>>, roomFor: () => ArrayBuffer | undefined): AsyncGenerator<ChunkAnswer> {
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

  /** The least busy member gets the part. */
  #ask(task: ChunkTask): void {
    const [member] = this.#members.toSorted((one, other) => one.busy - other.busy);
    if (member === undefined) throw new Error('cannot happen: a team has at least one member');
    const answer = member.convert(task);
    // A failure is told when its turn comes; until then it must not count as unhandled.
    answer.catch(() => {});
    this.#coming.push(answer);
  }
}

/** The thread that reads and writes, which has time left: it takes its share when the others have theirs. */
export class CsvHere implements TeamMember {
  busy = 0;
  readonly #converter: CsvChunkConverter;

  constructor(shape: ChunkShape) {
    this.#converter = new CsvChunkConverter(shape);
  }

  async convert(task: ChunkTask): Promise<ChunkAnswer> {
    this.busy += 1;
    await setImmediate();
    this.busy -= 1;
    return this.#converter.answer(task);
  }

  async stop(): Promise<void> {}
}

/** A thread of its own. It answers in the order in which it is asked. */
export class CsvThread implements TeamMember {
  readonly #worker: Worker;
  readonly #waiting: PromiseWithResolvers<ChunkAnswer>[] = [];

  constructor(shape: ChunkShape) {
    this.#worker = new Worker(programFile('connectors/_files/csv-thread'), { workerData: shape });
    this.#worker.on('message', (answer: ChunkAnswer) => this.#waiting.shift()?.resolve(answer));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('a thread ended before it had answered')));
  }

  get busy(): number {
    return this.#waiting.length;
  }

  convert(task: ChunkTask): Promise<ChunkAnswer> {
    const answer = Promise.withResolvers<ChunkAnswer>();
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
