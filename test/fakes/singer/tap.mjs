// A tap of Singer: its config says what it writes. Records come after the state that it is given.
import { readFileSync } from 'node:fs';

const args = process.argv.slice(2);
const fileOf = (name) => {
  const at = args.indexOf(`--${name}`);
  return at === -1 ? undefined : JSON.parse(readFileSync(args[at + 1], 'utf8'));
};
const config = fileOf('config');
const state = fileOf('state');
const { count = 24, every = 5, stream = 'orders', noise = false, wrong = false } = config;
process.stderr.write(`INFO config in ${args[args.indexOf('--config') + 1]}\n`);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

process.stderr.write(
  `INFO starting with ${args.filter((arg) => arg.startsWith('--')).join(' ')}\n`,
);
if (config.silent) {
  if (config.stubborn) process.on('SIGTERM', () => {});
  setInterval(() => {}, 60_000);
} else {
  if (noise) process.stdout.write('Welcome to the tap!\n{"type": "NEWS"}\n\n');
  const properties = {
    id: { type: 'integer' },
    name: { type: ['null', 'string'] },
    at: { type: 'string', format: 'date-time' },
    price: { type: ['number', 'null'] },
    tags: { type: 'array' },
    any: { type: ['string', 'integer'] },
  };
  say({ type: 'SCHEMA', stream, schema: { properties }, key_properties: ['id'] });
  for (let id = (state?.id ?? 0) + 1; id <= count; id += 1) {
    if (noise) say({ type: 'RECORD', stream: 'others', record: { id } });
    if (noise && id === 3) say({ type: 'ACTIVATE_VERSION', stream, version: 1 });
    const record = {
      id: wrong && id === 7 ? 'seven' : id,
      name: id % 3 === 0 ? null : `é ${id}`,
      at: `2026-01-02T03:04:${String(id % 60).padStart(2, '0')}.000000Z`,
      price: id / 2,
      tags: ['a', { b: id }],
      any: id % 2 === 0 ? 'x' : 1,
    };
    say({ type: 'RECORD', stream, record });
    if (every > 0 && id % every === 0) say({ type: 'STATE', value: { id } });
    if (config.fails_after === id) {
      process.stderr.write(`CRITICAL ${config.says ?? 'the login was refused'}\n`);
      process.exitCode = 3;
      break;
    }
  }
  if (process.exitCode === undefined && every > 0) say({ type: 'STATE', value: { id: count } });
}
