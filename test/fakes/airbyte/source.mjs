// A source of Airbyte: its config says what it writes. Records come after the state that it is given.
import { readFileSync } from 'node:fs';

const [verb, ...args] = process.argv.slice(2);
const fileOf = (name) => {
  const at = args.indexOf(`--${name}`);
  return at === -1 ? undefined : JSON.parse(readFileSync(args[at + 1], 'utf8'));
};
const config = fileOf('config') ?? {};
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const log = (level, message) => say({ type: 'LOG', log: { level, message } });
const descriptor = (name) => ({ name, ...(config.namespace && { namespace: config.namespace }) });
const fails = (error) => {
  say({ type: 'TRACE', trace: { type: 'ERROR', emitted_at: 1, error } });
  process.exitCode = 1;
};

const properties = {
  id: { type: 'integer' },
  name: { type: 'string' },
  at: { type: 'string', format: 'date-time', airbyte_type: 'timestamp_with_timezone' },
  local: { type: 'string', format: 'date-time', airbyte_type: 'timestamp_without_timezone' },
  price: { type: ['null', 'number'] },
  whole: { type: 'number', airbyte_type: 'integer' },
  tags: { type: 'array' },
};
const stream = (name, modes = ['full_refresh', 'incremental']) => ({
  ...descriptor(name),
  json_schema: { type: 'object', properties },
  supported_sync_modes: modes,
  source_defined_cursor: true,
  source_defined_primary_key: [['id']],
});

const COMMANDS = {
  spec() {
    const login = {
      oneOf: [{ properties: { word: { type: 'string', airbyte_secret: true } } }],
    };
    const connectionSpecification = {
      type: 'object',
      required: ['count'],
      properties: { count: { type: 'integer' }, login },
    };
    say({ type: 'SPEC', spec: { connectionSpecification } });
  },
  check() {
    const status = config.refuses
      ? { status: 'FAILED', message: `no login with ${config.login?.word}` }
      : { status: 'SUCCEEDED' };
    say({ type: 'CONNECTION_STATUS', connectionStatus: status });
  },
  discover() {
    if (config.hides) fails({ message: 'not today', failure_type: 'transient_error' });
    else
      say({
        type: 'CATALOG',
        catalog: { streams: [stream('orders'), stream('lists', ['full_refresh'])] },
      });
  },
  read,
};

function stateOf(id, count) {
  const stats = config.counts === false ? {} : { sourceStats: { recordCount: count } };
  if (config.state === 'legacy') return { data: { orders: { id } } };
  const stream_state = { id };
  const one = { stream_descriptor: descriptor('orders'), stream_state };
  if (config.state === 'global')
    return { type: 'GLOBAL', global: { shared_state: { id }, stream_states: [one] }, ...stats };
  // Older readers find the data of the state beside it.
  return { type: 'STREAM', stream: one, data: { orders: { id } }, ...stats };
}

function startOf(state) {
  if (state === undefined) return 0;
  if (!Array.isArray(state)) return state.orders.id;
  const [{ type, stream: one, global: all }] = state;
  return type === 'GLOBAL' ? all.shared_state.id : one.stream_state.id;
}

function read() {
  const catalog = fileOf('catalog');
  const state = fileOf('state');
  log('INFO', `files ${args.filter((arg) => arg.startsWith('--')).join(' ')}`);
  log(
    'DEBUG',
    `catalog ${JSON.stringify(catalog.streams.map(({ stream: one, ...how }) => [one.name, how]))}`,
  );
  process.stderr.write(`config in ${args[args.indexOf('--config') + 1]}\n`);
  if (config.silent) {
    if (config.stubborn) process.on('SIGTERM', () => {});
    setInterval(() => {}, 60_000);
    return;
  }
  const { count, every = 5, noise = false } = config;
  const status = (told) =>
    say({
      type: 'TRACE',
      trace: {
        type: 'STREAM_STATUS',
        emitted_at: 1,
        stream_status: { stream_descriptor: descriptor('orders'), status: told },
      },
    });
  status('STARTED');
  say({
    type: 'TRACE',
    trace: { type: 'ESTIMATE', emitted_at: 1, estimate: { name: 'orders', row_estimate: count } },
  });
  if (config.rotates)
    say({
      type: 'CONTROL',
      control: {
        type: 'CONNECTOR_CONFIG',
        connectorConfig: { config: { ...config, token: `${config.token}+` } },
      },
    });
  if (noise) process.stdout.write('Welcome!\n{"type": "NEWS"}\n\n');
  let since = 0;
  for (let id = startOf(state) + 1; id <= count; id += 1) {
    if (noise) say({ type: 'RECORD', record: { stream: 'others', data: { id }, emitted_at: 1 } });
    const data = {
      id,
      name: id % 3 === 0 ? null : `é ${id}`,
      at: `2026-01-02T03:04:${String(id % 60).padStart(2, '0')}.000000Z`,
      local: '2026-01-02T03:04:05',
      price: id / 2,
      whole: id,
      tags: ['a', { b: id }],
    };
    const text = JSON.stringify({
      type: 'RECORD',
      record: {
        stream: 'orders',
        ...(config.namespace && { namespace: config.namespace }),
        data,
        emitted_at: 1,
      },
    });
    process.stdout.write(config.cuts === id ? `${text.slice(0, 20)}\n` : `${text}\n`);
    since += 1;
    if (id % every === 0) {
      say({ type: 'STATE', state: stateOf(id, since) });
      if (noise)
        say({
          type: 'STATE',
          state: { type: 'STREAM', stream: { stream_descriptor: { name: 'others' } } },
        });
      since = 0;
    }
    if (config.fails_after === id) {
      const { says = 'the login was refused', failure_type = 'config_error' } = config;
      if (config.bare) {
        process.stderr.write(`${says}\n`);
        process.exitCode = 3;
      } else fails({ message: says, internal_message: 'inside', failure_type });
      return;
    }
  }
  say({ type: 'STATE', state: stateOf(count, since) });
  status(config.gives_up ? 'INCOMPLETE' : 'COMPLETE');
}

COMMANDS[verb]();
