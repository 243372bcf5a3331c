import type { SourceContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import { isFull, pageBounds, type PageBounds } from '../../kit/page-bounds.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { fieldFault } from '../../kit/typed-values.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { SingerSourceConfig } from './config.ts';
import { readMessage, type TapMessage } from './messages.ts';
import { Program } from './program.ts';
import { registerSecrets } from './secrets.ts';
import { schemaOfStream } from './schema.ts';

const PAGE_RECORDS = 1000;

export class SingerSource implements Source {
  readonly #config: SingerSourceConfig;
  readonly #context: SourceContext;
  readonly #bounds: PageBounds;
  #tap: Program | undefined;
  #schema: RecordSchema | undefined;
  /** Whether the tap has said anything of the stream. */
  #isKnown = false;
  #isTyped = true;
  /** Records that are in no page yet, with their sizes. */
  #held: { readonly record: JsonObject; readonly size: number }[] = [];
  #bytes = 0;
  /** The last STATE, and how many of the held records came before it. */
  #state: { readonly value: JsonValue; readonly after: number } | undefined;
  #strange = 0;

  constructor(config: SingerSourceConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#bounds = pageBounds(PAGE_RECORDS, context.pageBytes);
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
        if (this.#endsPage()) yield this.#page();
        this.#hold(message.record, line);
        given += 1;
        if (given >= limit) break;
      }
      while (this.#held.length > 0) yield this.#page();
      // The state of a tap that does not know the stream says nothing of it.
      if (this.#state !== undefined && this.#isKnown) yield this.#page();
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
    if (message?.type === 'STATE') this.#state = { value: message.value, after: this.#held.length };
    else if (message?.type === 'SCHEMA' && message.stream === this.#config.stream) {
      this.#isKnown = true;
      // One object for all pages: a later schema is looked at record by record.
      this.#schema ??= schemaOfStream(message.schema);
    } else if (message?.type === 'ACTIVATE_VERSION' || message?.type === 'BATCH')
      log.info(`the tap sent ${message.type}, which is passed over`, {
        program: this.#config.executable,
      });
  }

  /** Before another record is added. */
  #endsPage(): boolean {
    const { length } = this.#held;
    if (length === 0) return false;
    if (this.#config.flush_on_state && this.#state?.after === length) return true;
    return isFull(this.#bounds, length, this.#bytes);
  }

  #hold(record: JsonObject, line: string): void {
    const size = Buffer.byteLength(line) + 1;
    this.#held.push({ record, size });
    this.#bytes += size;
  }

  /** Up to the last STATE, which is then its bookmark; all that is held where none came. */
  #page(): Page {
    const state = this.#state;
    const isMarked = state !== undefined && (state.after > 0 || this.#held.length === 0);
    const taken = this.#held.splice(0, isMarked ? state.after : this.#held.length);
    const bytes = taken.reduce((sum, { size }) => sum + size, 0);
    this.#bytes -= bytes;
    this.#state = undefined;
    const records = taken.map(({ record }) => record);
    return Page.ofRecords(records, {
      bytes,
      ...(isMarked ? { bookmark: state.value } : {}),
      schema: this.#schemaFor(records),
    });
  }

  /** What the tap says of its fields is only passed on while its records are so. */
  #schemaFor(records: readonly JsonObject[]): RecordSchema | undefined {
    const schema = this.#schema;
    if (schema === undefined || !this.#isTyped) return undefined;
    for (const record of records) {
      const fault = fieldFault(record, schema);
      if (fault === undefined) continue;
      this.#isTyped = false;
      this.#context.env.log.warn('records are not as the tap says: their types are left open', {
        stream: this.#config.stream,
        because: fault,
      });
      return undefined;
    }
    return schema;
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
