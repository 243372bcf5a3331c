/** The questions of `init`, for whoever sits at the terminal. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Prompts } from '../framework/prompts.ts';

export interface Answers {
  /** Absent for the example. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly discover: boolean;
}

export async function askStart(prompts: Prompts, cwd: string): Promise<Answers> {
  const what = await prompts.select(
    'What do you want to move?',
    [
      { value: 'file', label: 'a file', hint: 'CSV, JSON, Excel, Parquet, Avro, XML' },
      { value: 'url', label: 'what a web address answers', hint: 'JSON or CSV' },
      {
        value: 'database',
        label: 'a table of a database',
        hint: 'SQLite, PostgreSQL, MySQL, MongoDB',
      },
      { value: 'all', label: 'all tables of a database', hint: 'a row of the document for each' },
      { value: 'example', label: 'nothing yet: an example that runs as it is' },
    ] as const,
    'file',
  );
  if (what === 'example') return { from: undefined, to: undefined, discover: false };
  const from = await prompts.text(QUESTIONS[what], {
    example: EXAMPLES[what],
    check: (answer) => whyNotFrom(answer, cwd),
  });
  const to = await askDestination(prompts, what === 'all');
  return { from, to, discover: what === 'all' };
}

const QUESTIONS = {
  file: 'Which file?',
  url: 'Which address?',
  database: 'Which database?',
  all: 'Which database?',
} as const;
const EXAMPLES = {
  file: 'data/orders.csv',
  url: 'https://example.com/orders.json',
  database: 'shop.db, or postgres://user:password@host/database',
  all: 'shop.db, or postgres://user:password@host/database',
} as const;

function whyNotFrom(answer: string, cwd: string): string | undefined {
  if (answer === '') return 'A file or an address is needed.';
  if (/^[a-z][a-z0-9+]*:\/\//i.test(answer)) return undefined;
  return existsSync(path.resolve(cwd, answer)) ? undefined : `There is no file ${answer}.`;
}

async function askDestination(prompts: Prompts, isAll: boolean): Promise<string | undefined> {
  const where = await prompts.select(
    'Where to?',
    [
      { value: 'jsonl', label: 'a file of JSON lines', hint: 'to look at it first' },
      { value: 'sqlite', label: 'a SQLite database', hint: 'a file; made when it is missing' },
      { value: 'postgres', label: 'PostgreSQL' },
      { value: 'csv', label: 'a CSV file' },
    ] as const,
    isAll ? 'sqlite' : 'jsonl',
  );
  if (where === 'jsonl') return undefined;
  if (where === 'postgres')
    return prompts.text('Which database? The address goes to `.env`, not to the document.', {
      example: 'postgres://user:password@host/database',
      check: (answer) =>
        /^postgres(?:ql)?:\/\/.+/.test(answer) ? undefined : 'It starts with postgres://',
    });
  const preset = where === 'sqlite' ? 'out.db' : 'out.csv';
  return prompts.text('Which file?', { preset });
}
