/** What a connector says beside its records: logs, failures, estimates, and a config to keep. */
import type { PartContext } from '../../kit/context.ts';
import { ConnectorError, type ConnectorErrorKind } from '../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { configField, type ConnectorConfig } from './connector-config.ts';
import { isStream, nameIn, type Message } from './messages.ts';

const LEVELS: Readonly<Record<string, 'trace' | 'debug' | 'info' | 'warn' | 'error'>> = {
  FATAL: 'error',
  ERROR: 'error',
  WARN: 'warn',
  DEBUG: 'debug',
  TRACE: 'trace',
};

const KINDS: Readonly<Record<string, ConnectorErrorKind>> = {
  config_error: 'refused',
  transient_error: 'connection',
};

export class Reports {
  readonly #config: ConnectorConfig & { readonly stream: string };
  readonly #context: Pick<PartContext, 'env'>;
  #failure: ConnectorError | undefined;
  #isIncomplete = false;

  constructor(
    config: ConnectorConfig & { readonly stream: string },
    context: Pick<PartContext, 'env'>,
  ) {
    this.#config = config;
    this.#context = context;
  }

  hear(message: Message): void {
    if (message.type === 'LOG') {
      const level = LEVELS[message.level] ?? 'info';
      this.#context.env.log[level](message.message, { program: this.#program });
    }
    if (message.type === 'TRACE') this.#trace(message.trace);
  }

  /** What the connector itself said says more than how its program ended. */
  failure(): ConnectorError | undefined {
    if (this.#failure !== undefined || !this.#isIncomplete) return this.#failure;
    return new ConnectorError(
      'refused',
      `the connector \`${this.#program}\` says that the stream \`${this.#config.stream}\` is not complete`,
      { hint: 'the log has what it said of it' },
    );
  }

  get #program(): string {
    return this.#config.command[0] ?? '';
  }

  #trace({ type, error, estimate, stream_status: status }: JsonObject): void {
    const { log } = this.#context.env;
    if (type === 'ERROR' && isObject(error)) this.#failure ??= this.#errorOf(error);
    if (type === 'ESTIMATE' && isObject(estimate))
      log.info('the connector estimates what is to come', {
        stream: textOf(estimate['name']),
        records: textOf(estimate['row_estimate']),
        bytes: textOf(estimate['byte_estimate']),
      });
    if (type !== 'STREAM_STATUS' || !isObject(status)) return;
    if (!isStream(nameIn(status['stream_descriptor']), this.#config)) return;
    // It may be tried again, and end well.
    this.#isIncomplete = status['status'] === 'INCOMPLETE';
    log.debug('the connector tells of its stream', { status: textOf(status['status']) });
  }

  #errorOf({ message, internal_message: inner, failure_type: type }: JsonObject): ConnectorError {
    const kind = KINDS[jsonText(type ?? null)] ?? 'data';
    const said = textOf(message) ?? textOf(inner) ?? 'without a reason';
    const { log, redactor } = this.#context.env;
    if (typeof inner === 'string') log.error(inner, { program: this.#program });
    const hint =
      type === 'config_error'
        ? `check \`${configField(this.#config)}\``
        : 'the log has what it wrote to its standard error';
    return new ConnectorError(
      kind,
      `the connector \`${this.#program}\` failed: ${redactor.text(said)}`,
      {
        hint,
      },
    );
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : jsonText(value);
}
