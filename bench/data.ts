/**
 * The data of the moves: made from a seed and the row number alone, so that everybody measures the
 * same bytes.
 */
import { closeSync, existsSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Goes into the file names: whoever changes what is generated raises it. */
const VERSION = 1;
const SEED = 0x5eed;
const BLOCK_CHARACTERS = 1 << 20;

export interface Person {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly amount: number;
  readonly ts: string;
  readonly active: boolean;
  /** JSON text. */
  readonly payload: string;
}

export const PERSON_FIELDS = ['id', 'name', 'email', 'amount', 'ts', 'active', 'payload'] as const;

const GIVEN = [
  'Anna',
  'Bram',
  'Chloé',
  'Dmitri',
  'Elif',
  'Farid',
  'Greta',
  'Hans',
  'Inês',
  'Jürgen',
  'Katarzyna',
  'Liam',
  'Mia',
  'Noor',
];
const FAMILY = [
  'Schmidt',
  'de Vries',
  'Moreau',
  'Novák',
  'Rossi',
  'Kowalska',
  'Jensen',
  'Öztürk',
  'Silva',
  "O'Brien",
  'Weber',
  'Horváth',
];
const DOMAINS = ['example.com', 'example.org', 'example.net'];
const PLANS = ['free', 'team', 'pro', 'trial'];
/** 2024-01-01. */
const FIRST_MOMENT = 1_704_067_200_000;
const SPAN_MS = 700 * 86_400_000;

/** The row with a number from 0 on. One in eight is not active. */
export function personAt(index: number): Person {
  const random = generator(index);
  const given = pick(GIVEN, random());
  const family = pick(FAMILY, random());
  const login = `${given[0]}.${family}`
    .normalize('NFD')
    .replace(/[^A-Za-z.]/g, '')
    .toLowerCase();
  const comma = random() % 16 === 0;
  return {
    id: index + 1,
    name: comma ? `${family}, ${given}` : `${given} ${family}`,
    email: `${login}${index + 1}@${pick(DOMAINS, random())}`,
    amount: (random() % 1_000_000) / 100,
    ts: new Date(FIRST_MOMENT + (random() / 2 ** 32) * SPAN_MS).toISOString(),
    active: random() % 8 !== 0,
    payload: `{"plan":"${pick(PLANS, random())}","contenders":${random() % 500}}`,
  };
}

export function personLine(person: Person): string {
  const { id, name, email, amount, ts, active, payload } = person;
  return `${id},${cell(name)},${email},${amount},${ts},${active},${cell(payload)}\n`;
}

export const WIDE_COLUMNS = 60;
export const WIDE_FIELDS = Array.from(
  { length: WIDE_COLUMNS },
  (_, index) => `c${String(index + 1).padStart(2, '0')}`,
);

/**
 * Whole numbers, decimals, words and names in turn; no empty cells, because engines differ in what
 * those mean.
 */
export function wideAt(index: number): readonly string[] {
  const random = generator(index ^ 0x71de);
  return WIDE_FIELDS.map((_, column) => {
    const value = random();
    switch (column % 4) {
      case 0:
        return String(value % 100_000);
      case 1:
        return String((value % 1_000_000) / 1000);
      case 2:
        return `${pick(PLANS, value)} ${value.toString(36)}`;
      default:
        return pick(FAMILY, value);
    }
  });
}

function wideLine(cells: readonly string[]): string {
  return `${cells.map(cell).join(',')}\n`;
}

/** The file with the shape that data movers publish figures for. */
export function peopleFile(folder: string, rows: number): string {
  return generate({
    folder,
    name: `people-${rows}`,
    header: PERSON_FIELDS,
    rows,
    line: (index) => personLine(personAt(index)),
  });
}

export function wideFile(folder: string, rows: number): string {
  return generate({
    folder,
    name: `wide-${rows}`,
    header: WIDE_FIELDS,
    rows,
    line: (index) => wideLine(wideAt(index)),
  });
}

interface Generation {
  readonly folder: string;
  readonly name: string;
  readonly header: readonly string[];
  readonly rows: number;
  readonly line: (index: number) => string;
}

function generate({ folder, name, header, rows, line }: Generation): string {
  const path = join(folder, `${name}-v${VERSION}.csv`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  // Half a file must not be taken for the whole one by the next run.
  const unfinished = `${path}.unfinished`;
  const file = openSync(unfinished, 'w');
  let block = `${header.join(',')}\n`;
  for (let index = 0; index < rows; index++) {
    block += line(index);
    if (block.length < BLOCK_CHARACTERS) continue;
    writeSync(file, block);
    block = '';
  }
  writeSync(file, block);
  closeSync(file);
  renameSync(unfinished, path);
  return path;
}

function cell(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function pick(values: readonly string[], number: number): string {
  return values[number % values.length] ?? '';
}

/** Unsigned 32-bit numbers, a sequence of its own for every row. */
function generator(index: number): () => number {
  let state = Math.imul(index + 1, 0x9e3779b1) ^ SEED;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}
