/** Commands of a connector that have one answer: `spec`, `check` and `discover`. */
import type { PartContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { Redactor } from '../../lib/redact.ts';
import { Program } from '../_programs/program.ts';
import { configField, isSource, type ConnectorConfig } from './connector-config.ts';
import { keepConfig } from './kept-config.ts';
import { readMessage, type Message } from './messages.ts';
import { Reports } from './reports.ts';

type Verb = 'spec' | 'check' | 'discover' | 'read' | 'write';
type Files = Readonly<Record<string, JsonValue>>;

export function startConnector(
  verb: Verb,
  files: Files,
  config: ConnectorConfig,
  context: PartContext,
): Program {
  const [executable = '', ...before] = config.command;
  const names = Object.keys(files);
  return new Program(
    {
      executable,
      files,
      args: (pathOf) => [
        ...before,
        verb,
        ...names.flatMap((name) => [`--${name}`, pathOf(name)]),
        ...config.args,
      ],
      idleTimeoutSecs: config.idle_timeout_secs,
      // One that is written to tells by its output what it has stored: that must not wait in a buffer.
      ...(verb === 'write' ? { hasInput: true, variables: { PYTHONUNBUFFERED: '1' } } : {}),
    },
    context,
  );
}

/** The first message of the type; what else the connector says is heard. */
async function ask<T extends Message['type']>(
  { verb, files, type }: { readonly verb: Verb; readonly files: Files; readonly type: T },
  config: ConnectorConfig,
  context: PartContext,
): Promise<Extract<Message, { type: T }>> {
  const program = startConnector(verb, files, config, context);
  const reports = new Reports({ stream: '', ...config }, context);
  let found: Extract<Message, { type: T }> | undefined;
  try {
    for await (const line of program.lines()) {
      const message = readMessage(line);
      if (message === undefined) continue;
      reports.hear(message);
      if (message.type === 'CONTROL' && message.config !== undefined)
        await keepConfig(config, message.config, context);
      if (message.type === type) found ??= message as Extract<Message, { type: T }>;
    }
  } catch (error) {
    context.signal.throwIfAborted();
    // Many connectors answer `check` and end with a failure.
    if (found === undefined) throw reports.failure() ?? error;
  } finally {
    await program.stop();
  }
  if (found !== undefined) return found;
  throw (
    reports.failure() ??
    new ConnectorError(
      'data',
      `the connector \`${config.command[0]}\` gave no ${type} for \`${verb}\``,
      {
        hint: `is it ${isSource(config) ? 'a source' : 'a destination'} of Airbyte? The log has what it wrote`,
      },
    )
  );
}

/** What it says of itself. Fields of its config that it calls secret are hidden from then on. */
export async function askSpec(
  config: ConnectorConfig,
  whole: JsonObject,
  context: PartContext,
): Promise<JsonObject> {
  const { spec } = await ask({ verb: 'spec', files: {}, type: 'SPEC' }, config, context);
  const schema = spec['connectionSpecification'];
  if (!isObject(schema)) return spec;
  registerBySpec(schema, whole, context.env.redactor);
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const missing = required
    .filter((name) => typeof name === 'string')
    .filter((name) => !(name in whole));
  if (missing.length === 0) return spec;
  throw new ConnectorError(
    'refused',
    `the connector \`${config.command[0]}\` needs \`${missing.join('`, `')}\` in \`${configField(config)}\``,
    { hint: `see what its \`spec\` says of ${missing.length === 1 ? 'it' : 'them'}` },
  );
}

/** Also in branches that the config may not have chosen: a name too many is only hidden. */
function registerBySpec(schema: JsonObject, value: JsonValue, redactor: Redactor): void {
  if (schema['airbyte_secret'] === true && typeof value === 'string') redactor.register(value);
  const { properties, items, oneOf, anyOf, allOf } = schema;
  for (const choice of [oneOf, anyOf, allOf].flat())
    if (choice !== undefined && isObject(choice)) registerBySpec(choice, value, redactor);
  if (Array.isArray(value) && isObject(items ?? null))
    for (const one of value) registerBySpec(items as JsonObject, one, redactor);
  if (!isObject(value) || !isObject(properties ?? null)) return;
  for (const [name, inner] of Object.entries(properties as JsonObject))
    if (isObject(inner) && name in value) registerBySpec(inner, value[name] ?? null, redactor);
}

/** Resolves when the connector has reached what its config names. */
export async function askCheck(
  config: ConnectorConfig,
  whole: JsonObject,
  context: PartContext,
): Promise<void> {
  const files = { config: whole };
  const { status } = await ask(
    { verb: 'check', files, type: 'CONNECTION_STATUS' },
    config,
    context,
  );
  if (status['status'] === 'SUCCEEDED') return;
  const said = status['message'];
  const reason =
    typeof said === 'string' && said !== '' ? context.env.redactor.text(said) : 'without a reason';
  throw new ConnectorError('refused', `the connector \`${config.command[0]}\` refuses: ${reason}`, {
    hint: `check \`${configField(config)}\``,
  });
}

export async function askCatalog(
  config: ConnectorConfig,
  whole: JsonObject,
  context: PartContext,
): Promise<JsonObject> {
  const files = { config: whole };
  return (await ask({ verb: 'discover', files, type: 'CATALOG' }, config, context)).catalog;
}
