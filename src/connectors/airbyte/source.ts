import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { Discovered, ReadRequest, Source } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { HeldRecords } from '../_programs/held-records.ts';
import type { Program } from '../_programs/program.ts';
import { askCatalog, askSpec, startConnector } from './ask.ts';
import { configuredStream, streamsIn } from './catalog.ts';
import type { AirbyteSourceConfig } from './config.ts';
import { keepConfig, wholeConfig } from './kept-config.ts';
import { isStream, nameIn, readMessage, type Message, type State } from './messages.ts';
import { Reports } from './reports.ts';
import { StrangeLines } from './strange-lines.ts';

export class AirbyteSource implements Source {
  readonly #config: AirbyteSourceConfig;
  readonly #context: SourceContext;
  readonly #reports: Reports;
  readonly #held: HeldRecords;
  readonly #strange: StrangeLines;
  #program: Program | undefined;
  /** Records of the stream since its last state. */
  #sinceState = 0;

  constructor(config: AirbyteSourceConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#reports = new Reports(config, context);
    this.#strange = new StrangeLines(config);
    const { stream, flush_on_state: flushesOnState } = config;
    this.#held = new HeldRecords({ context, stream, flushesOnState });
  }

  async *pages({ bookmark, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    this.#context.signal.throwIfAborted();
    let given = 0;
    let number = 0;
    try {
      const program = await this.#start(bookmark);
      for await (const line of program.lines()) {
        this.#context.signal.throwIfAborted();
        number += 1;
        if (line.trim() === '') continue;
        const message = readMessage(line);
        if (message === undefined) this.#strange.add(number);
        if (message?.type !== 'RECORD' || !isStream(message.stream, this.#config)) {
          if (message !== undefined) await this.#hear(message);
          continue;
        }
        if (this.#held.endsPage) yield this.#held.take();
        this.#held.add(message.data, line);
        this.#sinceState += 1;
        given += 1;
        if (given >= limit) break;
      }
      const failure = given >= limit ? undefined : this.#reports.failure();
      if (failure !== undefined) throw failure;
      while (this.#held.count > 0) yield this.#held.take();
      if (this.#held.hasState) yield this.#held.take();
      this.#strange.tell(this.#context.env.log);
    } catch (error) {
      this.#context.signal.throwIfAborted();
      throw this.#reports.failure() ?? error;
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    await this.#program?.stop();
  }

  async #start(bookmark: JsonValue | undefined): Promise<Program> {
    const whole = await wholeConfig(this.#config, this.#context);
    await askSpec(this.#config, whole, this.#context);
    const known = this.#config.catalog ?? (await askCatalog(this.#config, whole, this.#context));
    const { catalog, schema } = configuredStream(known, this.#config);
    this.#held.describe(schema);
    const isNew = bookmark === undefined || this.#config.sync_mode === 'full_refresh';
    // What `discover` asked to keep is there now.
    const files = {
      config: await wholeConfig(this.#config, this.#context),
      catalog,
      ...(isNew ? {} : { state: bookmark }),
    };
    this.#program = startConnector('read', files, this.#config, this.#context);
    return this.#program;
  }

  async #hear(message: Message): Promise<void> {
    this.#reports.hear(message);
    if (message.type === 'STATE') this.#mark(message.state);
    if (message.type === 'CONTROL' && message.config !== undefined)
      await keepConfig(this.#config, message.config, this.#context);
  }

  #mark({ value, stream, count }: State): void {
    if (stream !== undefined && !isStream(stream, this.#config)) return;
    if (stream !== undefined && count !== undefined && count > this.#sinceState)
      throw new ConnectorError(
        'data',
        `the connector \`${this.#config.command[0]}\` counts ${count} records before its state, and ${this.#sinceState} came`,
        {
          hint: 'lines that are no messages may have been records: see them with `on_malformed: fail`',
        },
      );
    this.#sinceState = 0;
    // The state of a whole refresh is only of use to a run that goes on with it.
    if (this.#config.sync_mode === 'incremental') this.#held.mark(value);
  }
}

/** One data set for each stream. */
export async function discoverStreams(
  config: AirbyteSourceConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  const whole = await wholeConfig(config, context);
  await askSpec(config, whole, context);
  const catalog = await askCatalog(config, whole, context);
  return streamsIn(catalog).flatMap((stream) => {
    const name = nameIn(stream);
    return name === undefined ? [] : [discovered(name.name, name.namespace, stream)];
  });
}

function discovered(name: string, namespace: string | undefined, stream: JsonObject): Discovered {
  const { json_schema: schema = null, supported_sync_modes: modes } = stream;
  const isIncremental = Array.isArray(modes) && modes.includes('incremental');
  const hasCursor =
    stream['source_defined_cursor'] === true || stream['default_cursor_field'] !== undefined;
  return {
    name: namespace === undefined ? name : `${namespace}.${name}`,
    kind: 'stream',
    ...(isObject(schema) ? { schema } : {}),
    config_patch: {
      stream: name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(isIncremental && hasCursor ? { sync_mode: 'incremental' } : {}),
    },
  };
}
