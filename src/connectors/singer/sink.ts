import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { requireOpen, type FinishReason, type Sink, type WriteResult } from '../../kit/sink.ts';
import { keyedSpec, planKeyedPage, settle } from '../../kit/write-spec.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, parseData, stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { inTime } from '../_programs/in-time.ts';
import { objectsIn } from '../_programs/objects-in.ts';
import { Program } from '../_programs/program.ts';
import { registerSecrets } from '../_programs/config-secrets.ts';
import type { SingerSinkConfig } from './sink-config.ts';
import { StreamSchema } from '../_programs/stream-schema.ts';

/** The field of our states: a number that grows with every flush. */
const STATE = 'headgate_flush';

interface Running {
  readonly program: Program;
  /** Ends with the program; rejects where that failed. */
  readonly ended: Promise<void>;
}

export class SingerSink implements Sink {
  readonly #config: SingerSinkConfig;
  readonly #context: SinkContext;
  readonly #stream: string;
  readonly #schema = new StreamSchema();
  readonly #version: number;
  #running: Running | undefined;
  #isSchemaSent = false;
  #flushes = 0;
  #isDirty = false;
  /** The flush that waits for its state. */
  #waiting: { readonly number: number; readonly back: PromiseWithResolvers<void> } | undefined;
  /** Of a page that it did not read in time; how much of it the target has is not known. */
  #fault: ConnectorError | undefined;
  #isClosed = false;
  #isDiscarded = false;

  constructor(config: SingerSinkConfig, context: SinkContext) {
    this.#config =
      context.role === 'dlq' ? { ...config, write_mode: 'append', flush_on: 'state' } : config;
    this.#context = context;
    this.#stream = config.stream ?? context.row;
    this.#version = context.env.clock.now().getTime();
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    this.#context.signal.throwIfAborted();
    const records = objectsIn(page, 'a target');
    if (records.length === 0) return { written: 0, rejected: [] };
    // What a target makes of a record without its key is anybody's guess.
    const spec = keyedSpec(this.#config, 'value');
    if (spec !== undefined) settle(records.length, planKeyedPage(records, spec).rejected, false);
    const version: JsonObject =
      this.#config.write_mode === 'overwrite' ? { version: this.#version } : {};
    const messages = records.map((record): JsonObject => ({
      type: 'RECORD',
      stream: this.#stream,
      record,
      ...version,
    }));
    await this.#send([...this.#schemaBefore(records, page), ...messages]);
    this.#isDirty = true;
    return { written: records.length, rejected: [] };
  }

  /** Where the target gives states back, it has stored everything before them. */
  async flush(): Promise<void> {
    if (this.#config.flush_on !== 'state' || !this.#isDirty) return;
    const number = (this.#flushes += 1);
    const back = Promise.withResolvers<void>();
    // Handled below; it may come before.
    back.promise.catch(() => {});
    this.#waiting = { number, back };
    await this.#send([{ type: 'STATE', value: { [STATE]: number } }]);
    await this.#inTime(back.promise, 'gave no state back');
    this.#isDirty = false;
  }

  async finish(reason: FinishReason): Promise<void> {
    // One that is not told to activate its records, or does not see its input end, keeps nothing new.
    this.#isDiscarded = reason !== 'success' && this.#config.flush_on !== 'state';
    if (reason !== 'success') return this.#running?.program.stop();
    if (this.#config.write_mode === 'overwrite') {
      await this.#send([
        ...this.#schemaBefore([], undefined),
        { type: 'ACTIVATE_VERSION', stream: this.#stream, version: this.#version },
      ]);
    }
    if (this.#running === undefined) return;
    const { program, ended } = this.#running;
    program.endInput();
    await this.#inTime(ended, 'did not end');
  }

  discarded(): boolean {
    return this.#isDiscarded;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running?.program.stop();
  }

  #schemaBefore(records: readonly JsonObject[], page: Page | undefined): readonly JsonObject[] {
    const { schema: given, key, key_properties: keys = [...key] } = this.#config;
    const schema =
      given === undefined
        ? this.#schema.before(records, page?.schema)
        : this.#isSchemaSent
          ? undefined
          : given;
    if (schema === undefined) return [];
    this.#isSchemaSent = true;
    return [{ type: 'SCHEMA', stream: this.#stream, schema, key_properties: keys }];
  }

  async #send(messages: readonly JsonObject[]): Promise<void> {
    if (this.#fault !== undefined) throw this.#fault;
    const { program, ended } = (this.#running ??= this.#start());
    const lines = messages.map((message) => `${stringifyJson(message)}\n`).join('');
    try {
      await this.#inTime(program.write(lines), 'did not read what it was sent');
    } catch (error) {
      if (error instanceof ConnectorError) throw (this.#fault = error);
      this.#context.signal.throwIfAborted();
      // What it ended with says more than a pipe that is closed.
      await ended;
      throw this.#endedEarly();
    }
  }

  #start(): Running {
    const { target_command: executable, args, target_config: config, env } = this.#config;
    registerSecrets({ config, env }, this.#context.env.redactor);
    const program = new Program(
      {
        executable,
        files: { config },
        args: (pathOf) => ['--config', pathOf('config'), ...args],
        hasInput: true,
        variables: env,
        inherits: this.#config.inherit_env,
      },
      this.#context,
    );
    const ended = this.#listen(program);
    ended.catch(() => {});
    return { program, ended };
  }

  async #listen(program: Program): Promise<void> {
    try {
      for await (const line of program.lines())
        if ((stateOf(line) ?? 0) >= (this.#waiting?.number ?? Infinity))
          this.#waiting?.back.resolve();
      this.#waiting?.back.reject(this.#endedEarly());
    } catch (error) {
      this.#waiting?.back.reject(error);
      throw error;
    }
  }

  #endedEarly(): ConnectorError {
    return new ConnectorError(
      'refused',
      `the program \`${this.#config.target_command}\` ended before it had all records`,
      { hint: 'the log has what it wrote to its standard error' },
    );
  }

  #inTime(work: Promise<void>, what: string): Promise<void> {
    const { flush_timeout_secs: seconds, target_command: program } = this.#config;
    return inTime(work, what, { program, seconds });
  }
}

function stateOf(line: string): number | undefined {
  try {
    const value = parseData(line);
    const number = isObject(value) ? value[STATE] : undefined;
    return typeof number === 'number' ? number : undefined;
  } catch {
    return undefined;
  }
}
