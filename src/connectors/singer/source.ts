import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { SingerSourceConfig } from './config.ts';
import { readMessage, type TapMessage } from './messages.ts';
import { HeldRecords } from '../_programs/held-records.ts';
import { Program } from '../_programs/program.ts';
import { registerSecrets } from '../_programs/config-secrets.ts';
import { schemaOfStream } from '../_programs/stream-types.ts';

export class SingerSource implements Source {
  readonly #config: SingerSourceConfig;
  readonly #context: SourceContext;
  readonly #held: HeldRecords;
  #tap: Program | undefined;
  /** Whether the tap has said anything of the stream. */
  #isKnown = false;
  #strange = 0;

  constructor(config: SingerSourceConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    const { stream, flush_on_state: flushesOnState } = config;
    this.#held = new HeldRecords({ context, stream, flushesOnState });
  }

  async *pages({ bookmark, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    this.#context.signal.throwIfAborted();
    const tap = this.#start(bookmark);
    let given = 0;
    let number = 0;
    try {
      for await (const line of tap.lines()) {
        this.#context.signal.throwIfAborted();
        number += 1;
        if (line.trim() === '') continue;
        const message = this.#messageOf(line, number);
        if (message?.type !== 'RECORD' || message.stream !== this.#config.stream) {
          this.#hear(message);
          continue;
        }
        if (this.#held.endsPage) yield this.#held.take();
        this.#held.add(message.record, line);
        given += 1;
        if (given >= limit) break;
      }
      while (this.#held.count > 0) yield this.#held.take();
      // The state of a tap that does not know the stream says nothing of it.
      if (this.#held.hasState && this.#isKnown) yield this.#held.take();
      this.#tellStrange(given);
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    await this.#tap?.stop();
  }

  #start(bookmark: JsonValue | undefined): Program {
    const { executable, args, tap_config: config, catalog } = this.#config;
    registerSecrets(config, this.#context.env.redactor);
    const files = {
      config,
      ...(catalog === undefined ? {} : { catalog }),
      ...(bookmark === undefined ? {} : { state: bookmark }),
    };
    this.#tap = new Program(
      {
        executable,
        files,
        args: (pathOf) => [
          ...Object.keys(files).flatMap((name) => [`--${name}`, pathOf(name)]),
          ...args,
        ],
        idleTimeoutSecs: this.#config.idle_timeout_secs,
      },
      this.#context,
    );
    return this.#tap;
  }

  #messageOf(line: string, number: number): TapMessage | undefined {
    const message = readMessage(line);
    if (message !== undefined) return message;
    if (this.#config.on_malformed === 'fail')
      throw new ConnectorError(
        'data',
        `line ${number} of \`${this.#config.executable}\` is no message of Singer`,
        { hint: 'correct the tap, or set `on_malformed: skip`' },
      );
    this.#strange += 1;
    return undefined;
  }

  #hear(message: TapMessage | undefined): void {
    const { log } = this.#context.env;
    if (message?.type === 'STATE') this.#held.mark(message.value);
    else if (message?.type === 'SCHEMA' && message.stream === this.#config.stream) {
      this.#isKnown = true;
      this.#held.describe(schemaOfStream(message.schema));
    } else if (message?.type === 'ACTIVATE_VERSION' || message?.type === 'BATCH')
      log.info(`the tap sent ${message.type}, which is passed over`, {
        program: this.#config.executable,
      });
  }

  #tellStrange(given: number): void {
    const { log } = this.#context.env;
    const { executable: program, stream } = this.#config;
    if (this.#strange > 0)
      log.warn('lines of the tap that are no messages of Singer were left out', {
        program,
        lines: this.#strange,
      });
    if (given === 0 && !this.#isKnown)
      log.warn('the tap said nothing of the stream: is it selected in the catalog?', {
        program,
        stream,
      });
  }
}
