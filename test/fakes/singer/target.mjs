// A target of Singer: keeps records in a file of JSON lines, by key where there is one.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const { path } = JSON.parse(
  readFileSync(process.argv[process.argv.indexOf('--config') + 1], 'utf8'),
);
const linesOf = (text) => text.split('\n').filter((line) => line.trim() !== '');
let rows = existsSync(path)
  ? linesOf(readFileSync(path, 'utf8')).map((line) => JSON.parse(line))
  : [];
let keys = [];
let names = [];
const staged = [];
let touched = false;

process.stderr.write(`INFO sees ${Object.keys(process.env).sort().join(' ')}\n`);

function add(record) {
  const same = (one) =>
    keys.every((key) => JSON.stringify(one[key]) === JSON.stringify(record[key]));
  const at = keys.length === 0 ? -1 : rows.findIndex(same);
  if (at === -1) rows.push(record);
  else rows[at] = record;
}

function save() {
  if (!touched) return;
  writeFileSync(`${path}.new`, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  renameSync(`${path}.new`, path);
}

function take({ type, record, version, value, key_properties: given, schema }) {
  if (type === 'SCHEMA') {
    keys = given;
    names = Object.keys(schema.properties);
    process.stderr.write(`INFO told ${JSON.stringify(schema)}\n`);
  }
  if (type === 'RECORD') {
    if (record.v === 'refuse me' || Object.keys(record).some((name) => !names.includes(name))) {
      process.stderr.write('CRITICAL a record was refused\n');
      process.exit(4);
    }
    if (version === undefined) {
      add(record);
      touched = true;
    } else staged.push({ record, version });
  }
  if (type === 'ACTIVATE_VERSION') {
    rows = staged.filter((one) => one.version === version).map((one) => one.record);
    touched = true;
  }
  if (type === 'STATE') {
    save();
    process.stdout.write(`${JSON.stringify(value)}\n`);
  }
}

let rest = '';
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) take(JSON.parse(line));
});
process.stdin.on('end', () => save());
