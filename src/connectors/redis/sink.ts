import type { Redis } from 'ioredis';
import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import {
  APPEND_ONLY,
  defineSink,
  requireOpen,
  type Sink,
  type TokenWriter,
  type WriteResult,
} from '../../kit/sink.ts';
import { ConnectorError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  jsonText,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { spellingOf } from '../../lib/text/number-spelling.ts';
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
} from '../../kit/execution.ts';
import { redisUri } from './addresses.ts';
import { redisSinkConfig, type RedisSinkConfig, type RedisSinkType } from './config.ts';
import { RedisLink } from './link.ts';
import { failed } from './source.ts';

const TOKEN_PREFIX = '_svc_commit_token:';
/** Of the commands that are sent together. */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_COMMANDS = 10_000;
/** Of a command within a script: its stack holds 8000 values. */
const MOST_ARGUMENTS = 7900;

export const redisSink = defineSink<RedisSinkConfig>({
  type: 'redis',
  aliases: ['queue_a'],
  description: 'Adds records to a list or a stream in Redis, or stores each under its own key.',
  config: redisSinkConfig,
  examples: [
    { url: 'redis://localhost:6379/0', sink_type: { type: 'List', key: 'orders' } },
    { url: 'redis://localhost:6379/0', sink_type: { type: 'Stream', key: 'orders' } },
    {
      url: 'rediss://:secret@cache.example.com:6380/2',
      sink_type: { type: 'KeyValue', key_field: 'id' },
      batch_size: 500,
    },
  ],
  capabilities: () => ({ ...APPEND_ONLY, token: true }),
  datasetUri: ({ url, sink_type: type }) => {
    if (type.type === 'KeyValue') return redisUri(url, { key_field: type.key_field });
    return redisUri(url, type.type === 'List' ? { key: type.key } : { stream: type.key });
  },
  readBack: ({ url, sink_type: type }) =>
    type.type === 'List'
      ? { type: 'redis', config: { url, source_type: { type: 'List', key: type.key } } }
      : undefined,
  open: (config, context) => Promise.resolve(new RedisSink(config, context)),
  probe: probeRedisSink,
});

/** The arguments of the command that stores a record, behind its name and key. */
type Command = readonly string[];

class RedisSink implements Sink {
  readonly tokens: TokenWriter;
  readonly #config: RedisSinkConfig;
  readonly #link: RedisLink;
  readonly #doing: string;
  /** Absent where no other server takes the run over. */
  readonly #execution: Execution | undefined;
  #held: Command[] = [];
  #isClosed = false;

  constructor(config: RedisSinkConfig, { signal, env, runId, claim }: SinkContext) {
    const { url, sink_type: type } = config;
    this.#config = config;
    this.#execution = claim === undefined ? undefined : { runId, claim };
    const wrongType = 'set `sink_type` to what the key holds, or use another key';
    this.#link = new RedisLink({ url, signal, redactor: env.redactor, wrongType });
    const target = type.type === 'KeyValue' ? 'keys' : `\`${type.key}\``;
    this.#doing = `records cannot be written to ${target}`;
    this.tokens = {
      last: (scope) => this.#lastToken(scope),
      hold: async (page) => {
        requireOpen(this.#isClosed);
        this.#held = this.#held.concat(scriptable(commandsOf(page, type)));
      },
      write: (page, scope, token) => this.#commit(page, scope, token),
      forget: async (scope) => {
        const doing = 'the commit token cannot be removed';
        await this.#link.run(doing, (redis) => redis.del(TOKEN_PREFIX + scope));
      },
    };
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const { sink_type: type, batch_size: most } = this.#config;
    // All of them before the first is sent: a record that cannot be stored leaves nothing behind.
    const commands = commandsOf(page, type);
    for (const some of chunksOf(
      commands,
      most === 0 ? MOST_COMMANDS : Math.min(most, MOST_COMMANDS),
    ))
      await this.#link.run(this.#doing, (redis) => send(redis, type, some));
    return { written: page.count, rejected: [] };
  }

  async flush(): Promise<void> {}

  async finish(): Promise<void> {
    this.#held = [];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#held = [];
    this.#link.close();
  }

  async #lastToken(scope: string): Promise<string | undefined> {
    if (this.#execution !== undefined) await this.#takeScope(scope, this.#execution);
    const doing = 'the commit token cannot be read';
    const found = await this.#link.run(doing, (redis) => redis.get(TOKEN_PREFIX + scope));
    return found ?? undefined;
  }

  /** From now on only this execution commits in the scope. */
  async #takeScope(scope: string, execution: Execution): Promise<void> {
    const key = executionKey(scope);
    const doing = 'the commit token cannot be taken over';
    for (;;) {
      const before = await this.#link.run(doing, (redis) => redis.get(key));
      if (isLater(before ?? undefined, execution)) throw takenOverError(scope);
      const args = [TAKE, '1', key, before ?? '', executionText(execution)];
      if ((await this.#link.run(doing, (redis) => redis.call('EVAL', args))) === 1) return;
    }
  }

  async #commit(page: Page, scope: string, token: string): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const { sink_type: type } = this.#config;
    const commands = [...this.#held, ...scriptable(commandsOf(page, type))];
    const given = commands.flatMap((command) => [`${command.length}`, ...command]);
    const target = type.type === 'KeyValue' ? [] : [type.key];
    const keys = [TOKEN_PREFIX + scope, ...target, executionKey(scope)];
    const owner = this.#execution === undefined ? '' : executionText(this.#execution);
    // As one list: a call does not take as many arguments as a page may have.
    const args = [COMMIT, `${keys.length}`, ...keys, type.type, token, owner].concat(given);
    if ((await this.#link.run(this.#doing, (redis) => redis.call('EVAL', args))) !== 1)
      throw takenOverError(scope);
    this.#held = [];
    return { written: commands.length, rejected: [] };
  }
}

function executionKey(scope: string): string {
  return TOKEN_PREFIX + executionScope(scope);
}

/** Replaces a text, unless another one stands there by now. */
const TAKE = `
  if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[2])
  return 1`;

/**
 * Records and token in one step, unless a later execution has the scope. In a transaction of plain
 * commands one that fails (a key of another type) would not keep the token from being set; here it
 * ends the script before.
 */
const COMMIT = `
  if ARGV[3] ~= '' and redis.call('GET', KEYS[#KEYS]) ~= ARGV[3] then return 0 end
  local at = 4
  while at <= #ARGV do
    local count = tonumber(ARGV[at])
    local args = {}
    for n = 1, count do args[n] = ARGV[at + n] end
    if ARGV[1] == 'List' then redis.call('RPUSH', KEYS[2], args[1])
    elseif ARGV[1] == 'Stream' then redis.call('XADD', KEYS[2], '*', unpack(args))
    else redis.call('SET', args[1], args[2]) end
    at = at + count + 1
  end
  redis.call('SET', KEYS[1], ARGV[2])
  return 1`;

function commandsOf(page: Page, type: RedisSinkType): Command[] {
  const records = page.records();
  if (type.type === 'List') return records.map((record) => [stringifyJson(record)]);
  if (type.type === 'Stream') return records.map(fieldsOf);
  return records.map((record, index) => keyValueOf(record, index, type.key_field));
}

/** A script that ends in the middle keeps what it has written. */
function scriptable(commands: Command[]): Command[] {
  const wide = commands.findIndex(({ length }) => length > MOST_ARGUMENTS);
  if (wide === -1) return commands;
  const fields = (commands[wide] as Command).length / 2;
  throw new ConnectorError(
    'data',
    `a record has ${fields} fields; an entry of a stream takes ${MOST_ARGUMENTS / 2} where it is written exactly once`,
    { record: wide, hint: 'put fields into nested ones, or write with `delivery: at_least_once`' },
  );
}

/** Texts as they are, everything else as JSON. A record without fields is one field. */
function fieldsOf(record: JsonValue): Command {
  if (!isObject(record)) return ['_data', stringifyJson(record)];
  const names = Object.keys(record);
  if (names.length === 0) return ['_data', '{}'];
  return names.flatMap((name) => [name, exactText(record, name)]);
}

/** A number as it was read. */
function exactText(record: JsonObject, name: string): string {
  const value = record[name] ?? null;
  return (typeof value === 'number' ? spellingOf(record, name) : undefined) ?? jsonText(value);
}

function keyValueOf(record: JsonValue, index: number, field: string): Command {
  const key = isObject(record) && hasField(record, field) ? (record[field] ?? null) : null;
  if (key === null)
    throw new ConnectorError('data', `a record has no \`${field}\``, {
      record: index,
      hint: 'set `key_field` to a field that every record has',
    });
  return [jsonText(key), stringifyJson(record)];
}

function* chunksOf(commands: readonly Command[], most: number): Generator<readonly Command[]> {
  let from = 0;
  let bytes = 0;
  for (const [index, command] of commands.entries()) {
    const size = command.reduce((sum, text) => sum + text.length, 0);
    if (index > from && (index - from >= most || bytes + size > MOST_BYTES)) {
      yield commands.slice(from, index);
      from = index;
      bytes = 0;
    }
    bytes += size;
  }
  if (from < commands.length) yield commands.slice(from);
}

async function send(
  redis: Redis,
  type: RedisSinkType,
  commands: readonly Command[],
): Promise<void> {
  if (type.type === 'List') {
    await redis.call('RPUSH', [type.key, ...commands.flat()]);
    return;
  }
  const pipeline = redis.pipeline();
  for (const [first = '', ...rest] of commands)
    if (type.type === 'Stream') pipeline.xadd(type.key, '*', first, ...rest);
    else pipeline.set(first, rest[0] ?? '');
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
}

async function probeRedisSink(
  { url }: RedisSinkConfig,
  { signal, env }: SinkContext,
): Promise<ProbeFinding[]> {
  const link = new RedisLink({ url, signal, redactor: env.redactor, wrongType: '' });
  try {
    await link.run('the server does not answer', (redis) => redis.ping());
    return [{ name: 'ping', status: 'pass' }];
  } catch (error) {
    return [failed('ping', error)];
  } finally {
    link.close();
  }
}
