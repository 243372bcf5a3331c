// A destination of Airbyte: keeps records in a file of JSON lines. Its config says what it does wrong.
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const [verb, ...args] = process.argv.slice(2);
const fileOf = (name) => JSON.parse(readFileSync(args[args.indexOf(`--${name}`) + 1], 'utf8'));
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const log = (level, message) => say({ type: 'LOG', log: { level, message } });

function fails(message, failure_type = 'system_error') {
  say({ type: 'TRACE', trace: { type: 'ERROR', emitted_at: 1, error: { message, failure_type } } });
  process.exit(1);
}

const COMMANDS = { spec, check, write };

function spec() {
  const connectionSpecification = {
    type: 'object',
    required: ['path'],
    properties: { path: { type: 'string' }, word: { type: 'string', airbyte_secret: true } },
  };
  const supported_destination_sync_modes = process.env.DESTINATION_MODES?.split(',') ?? [
    'append',
    'append_dedup',
    'overwrite',
  ];
  say({ type: 'SPEC', spec: { connectionSpecification, supported_destination_sync_modes } });
}

function check() {
  const { refuses, word } = fileOf('config');
  const connectionStatus = refuses
    ? { status: 'FAILED', message: `no login with ${word}` }
    : { status: 'SUCCEEDED' };
  say({ type: 'CONNECTION_STATUS', connectionStatus });
}

const linesOf = (text) => text.split('\n').filter((line) => line.trim() !== '');
const typeOf = (value) => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
};

function write() {
  const config = fileOf('config');
  const { streams } = fileOf('catalog');
  const [configured] = streams;
  const { stream, destination_sync_mode: mode, primary_key: keys, cursor_field } = configured;
  const { path } = config;
  let rows = existsSync(path)
    ? linesOf(readFileSync(path, 'utf8')).map((line) => JSON.parse(line))
    : [];
  let staged = [];
  let count = 0;
  let sinceState = 0;
  let isComplete = false;
  const states = [];
  let first;

  if (config.told) appendFileSync(config.told, `${JSON.stringify({ catalog: configured })}\n`);
  if (config.files) log('INFO', `files ${args.join(' ')}`);
  if (config.noise) {
    process.stdout.write('Downloading the schema\n{"type": "NEWS"}\n');
    log('WARN', 'this is an old table');
    process.stderr.write('INFO starting up\n');
  }
  if (config.stubborn) process.on('SIGTERM', () => {});
  if (config.deaf) setInterval(() => {}, 1000);

  const idOf = (row) => JSON.stringify(keys.map(([name]) => row[name]));
  const isNewer = (one, other) => {
    const [name] = cursor_field;
    return name === undefined || !(one[name] < other[name]);
  };
  function put(row) {
    const at = mode === 'append_dedup' ? rows.findIndex((one) => idOf(one) === idOf(row)) : -1;
    if (at === -1) rows.push(row);
    else if (isNewer(row, rows[at])) rows[at] = row;
  }
  function save() {
    for (const row of staged) put(row);
    staged = [];
    writeFileSync(`${path}.new`, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    renameSync(`${path}.new`, path);
  }

  function faultOf({ stream: name, namespace, data, emitted_at }) {
    if (name !== stream.name || namespace !== stream.namespace) return `of a stream ${name}`;
    if (!Number.isInteger(emitted_at)) return 'without its time';
    for (const [field, value] of Object.entries(data)) {
      const known = stream.json_schema.properties[field];
      if (known === undefined) return `with a field ${field} that the catalog does not have`;
      const types = known.type === undefined ? undefined : [known.type].flat();
      const type = typeOf(value);
      if (types?.includes(type) === false && !(type === 'integer' && types.includes('number')))
        return `with a ${type} in ${field}, which is ${types.join(' or ')}`;
    }
    return undefined;
  }

  function take(message) {
    if (config.told && message.type !== 'RECORD')
      appendFileSync(config.told, `${JSON.stringify(message)}\n`);
    if (message.type === 'RECORD') {
      count += 1;
      sinceState += 1;
      if (count === config.dies_after) {
        process.stderr.write(`FATAL ${config.says ?? 'out of memory'}\n`);
        process.exit(config.code ?? 7);
      }
      if (count === config.fails_after)
        fails(config.says ?? 'the table is locked', config.failure_type);
      if (config.times) appendFileSync(config.times, `${message.record.emitted_at}\n`);
      const fault = faultOf(message.record);
      if (fault !== undefined) fails(`a record ${fault}`);
      staged.push(message.record.data);
    }
    if (message.type === 'STATE') answer(message.state);
    if (message.type === 'TRACE' && message.trace.stream_status?.status === 'COMPLETE')
      isComplete = true;
  }

  function answer(state) {
    if (mode !== 'overwrite') save();
    const stored = sinceState - (config.loses ?? 0);
    sinceState = 0;
    if (config.silent) return;
    if (config.unknown_state) state.stream.stream_state = config.unknown_state;
    if (config.repeats) state = first ??= state;
    const given = { ...state, destinationStats: { recordCount: stored } };
    if (config.old) delete given.destinationStats;
    if (config.at_end) states.push(given);
    else say({ type: 'STATE', state: given });
  }

  if (config.deaf) return;
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  });
  process.stdin.on('end', () => {
    // What nobody called complete is not more than what was stored already.
    if (!isComplete) process.exit(0);
    if (mode === 'overwrite') rows = [];
    if (mode === 'overwrite' || staged.length > 0) save();
    for (const state of states) say({ type: 'STATE', state });
    if (config.lingers) setInterval(() => {}, 1000);
    if (config.end_code) process.exitCode = config.end_code;
  });
}

COMMANDS[verb]();
