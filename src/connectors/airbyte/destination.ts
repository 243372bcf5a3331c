/** A destination that runs: what it is written, and what it says of it. */
import type { SinkContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { inTime } from '../_programs/in-time.ts';
import type { Program } from '../_programs/program.ts';
import { keepConfig } from './kept-config.ts';
import { readMessage, type State } from './messages.ts';
import { Reports } from './reports.ts';
import type { AirbyteSinkConfig } from './sink-config.ts';
import { StrangeLines } from './strange-lines.ts';

/** The field of our states: a number that grows with each of them. */
const STATE = 'headgate_flush';

export type NamedSinkConfig = AirbyteSinkConfig & { readonly stream: string };

interface Waiting {
  /** Records since the state before it. */
  readonly count: number;
  readonly isBack: () => void;
}

export class Destination {
  readonly #program: Program;
  readonly #config: NamedSinkConfig;
  readonly #context: SinkContext;
  readonly #reports: Reports;
  readonly #strange: StrangeLines;
  /** Ends with the program; rejects where that failed, or said that it does. */
  readonly #ended: Promise<void>;
  /** Why it takes nothing more. */
  #fault: { readonly error: unknown } | undefined;
  /** What waits for it, and is told that it failed. */
  #work: ((error: unknown) => void) | undefined;
  #isComplete = false;
  #states = 0;
  /** The state that has not come back. */
  #waiting: Waiting | undefined;

  constructor(program: Program, config: NamedSinkConfig, context: SinkContext) {
    this.#program = program;
    this.#config = config;
    this.#context = context;
    this.#reports = new Reports(config, context);
    this.#strange = new StrangeLines(config);
    this.#ended = this.#listen();
    this.#ended.catch(() => {});
  }

  /** Resolves when the system has taken them. */
  async send(messages: readonly JsonObject[]): Promise<void> {
    const lines = messages.map((message) => `${stringifyJson(message)}\n`).join('');
    try {
      await this.#unlessItFails(this.#program.write(lines), 'took no records');
    } catch (error) {
      this.#context.signal.throwIfAborted();
      if (error instanceof ConnectorError) throw error;
      // What it ended with says more than a pipe that is closed.
      await this.#unlessItFails(this.#ended, 'closed its input, and did not end');
      throw this.#endedEarly();
    }
  }

  /**
   * Sends a state behind the last `count` records. With `flush_on: state` it resolves when the
   * destination has given it back, for which it has stored them.
   */
  async store(count: number): Promise<void> {
    const back = Promise.withResolvers<void>();
    this.#waiting = { count, isBack: back.resolve };
    this.#states += 1;
    const state: JsonObject = {
      type: 'STREAM',
      stream: { stream_descriptor: this.#descriptor, stream_state: { [STATE]: this.#states } },
      sourceStats: { recordCount: count },
    };
    await this.send([{ type: 'STATE', state }]);
    if (this.#config.flush_on === 'state' && this.#config.write_mode !== 'overwrite')
      await this.#unlessItFails(
        back.promise,
        'gave no state back',
        'one that gives states back only at its end needs `flush_on: exit`',
      );
  }

  /** The stream is complete: resolves when the destination has stored all of it, and has ended. */
  async complete(): Promise<void> {
    const trace: JsonObject = {
      type: 'STREAM_STATUS',
      emitted_at: this.#context.env.clock.now().getTime(),
      stream_status: { stream_descriptor: this.#descriptor, status: 'COMPLETE' },
    };
    await this.send([{ type: 'TRACE', trace }]);
    this.#isComplete = true;
    this.#program.endInput();
    await this.#unlessItFails(this.#ended, 'did not end');
    if (this.#waiting !== undefined) throw this.#endedEarly();
    this.#strange.tell(this.#context.env.log);
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }

  get #name(): string {
    return this.#config.command[0] ?? '';
  }

  get #descriptor(): JsonObject {
    const { stream, namespace } = this.#config;
    return { name: stream, ...(namespace === undefined ? {} : { namespace }) };
  }

  async #listen(): Promise<void> {
    let number = 0;
    try {
      for await (const line of this.#program.lines()) {
        number += 1;
        if (line.trim() !== '') await this.#hear(line, number);
      }
      const failure = this.#reports.failure();
      if (failure !== undefined) throw failure;
      if (!this.#isComplete) throw this.#endedEarly();
    } catch (error) {
      const told = this.#context.signal.aborted ? error : (this.#reports.failure() ?? error);
      this.#fault = { error: told };
      this.#work?.(told);
      throw told;
    }
  }

  async #hear(line: string, number: number): Promise<void> {
    const message = readMessage(line);
    if (message === undefined) return this.#strange.add(number);
    this.#reports.hear(message);
    if (message.type === 'STATE') this.#mark(message.state);
    if (message.type === 'CONTROL' && message.config !== undefined)
      await keepConfig(this.#config, message.config, this.#context);
    // One that has failed stores nothing more, whatever it still says.
    if (message.type === 'TRACE' && message.trace['type'] === 'ERROR')
      throw this.#reports.failure();
  }

  #mark({ value, stored }: State): void {
    const number = numberIn(value);
    if (number === undefined || number > this.#states)
      throw new ConnectorError(
        'data',
        `the connector \`${this.#name}\` gave back a state that it was not given`,
        { hint: 'what it has stored is not known: correct the connector' },
      );
    if (number < this.#states || this.#waiting === undefined) return;
    const { count, isBack } = this.#waiting;
    if (stored !== undefined && stored < count)
      throw new ConnectorError(
        'data',
        `the connector \`${this.#name}\` says that it stored ${stored} of ${count} records`,
        { hint: 'the log has what it said of the others' },
      );
    this.#waiting = undefined;
    isBack();
  }

  #endedEarly(): ConnectorError {
    const { count } = this.#strange;
    const strange = count === 0 ? '' : `; ${count} lines of it were no messages of the protocol`;
    return new ConnectorError(
      'refused',
      `the connector \`${this.#name}\` ended before it had stored all records`,
      { hint: `the log has what it wrote to its standard error${strange}` },
    );
  }

  /** The work, or the failure of the destination, or the end of the time that it has. */
  async #unlessItFails(work: Promise<void>, what: string, hint?: string): Promise<void> {
    work.catch(() => {});
    if (this.#fault !== undefined) throw this.#fault.error;
    const done = Promise.withResolvers<void>();
    this.#work = done.reject;
    work.then(done.resolve, done.reject);
    const seconds = this.#config.flush_timeout_secs;
    try {
      await inTime(done.promise, what, { program: this.#name, seconds, hint });
    } catch (error) {
      // What it has stored is not known: it is sent nothing more.
      if (error instanceof ConnectorError) this.#fault ??= { error };
      throw error;
    } finally {
      this.#work = undefined;
    }
  }
}

function numberIn(states: JsonValue): number | undefined {
  const [state] = Array.isArray(states) ? states : [];
  const stream = isObject(state) ? state['stream'] : undefined;
  const own = isObject(stream) ? stream['stream_state'] : undefined;
  const number = isObject(own) ? own[STATE] : undefined;
  return typeof number === 'number' ? number : undefined;
}
