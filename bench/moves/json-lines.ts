/** Moves between files of JSON Lines. */
import { closeSync, existsSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { PERSON_FIELDS, personAt } from '../data.ts';
import { expectedDigest } from '../digest.ts';
import { headgateRun, program, type Move } from '../move.ts';
import { linesSide } from './files.ts';
import { GOVERNED_FIELDS, governedDocument, governedValues } from './governed.ts';

const LINES_A_WRITE = 10_000;

const governed: Move = {
  kind: 'processes',
  name: 'jsonl-jsonl-governed',
  title:
    'JSON Lines → JSON Lines with rename, filter, hash mask, contract of 6 fields and dead letters',
  async contest(bench) {
    const input = peopleLines(bench.folder, bench.rows);
    const output = join(bench.folder, 'jsonl-jsonl-governed.jsonl');
    const plain = join(bench.folder, 'jsonl-jsonl-governed-loop.jsonl');
    const command = headgateRun(
      bench.folder,
      'jsonl-governed',
      governedDocument(input, output, 'jsonl'),
    );
    const expected = expectedDigest(bench.rows, (index) => governedValues(personAt(index)));
    const same = expectedDigest(bench.rows, (index) => {
      const person = personAt(index);
      return PERSON_FIELDS.map((field) => person[field]);
    });
    return {
      rows: bench.rows,
      subject: linesSide('headgate', output, GOVERNED_FIELDS, expected, command),
      others: [
        {
          ...linesSide(
            'record loop (JSON.parse) doing nothing',
            plain,
            PERSON_FIELDS,
            same,
            program('json-loop', input, plain),
          ),
          role: 'baseline',
          target: 0.8,
        },
      ],
    };
  },
};

export const jsonLinesMoves: readonly Move[] = [governed];

/** Made once; the name tells the number of rows. */
export function peopleLines(folder: string, rows: number): string {
  const path = join(folder, `people-${rows}.jsonl`);
  if (existsSync(path)) return path;
  const file = openSync(`${path}.part`, 'w');
  for (let from = 0; from < rows; from += LINES_A_WRITE) {
    const count = Math.min(LINES_A_WRITE, rows - from);
    writeSync(
      file,
      Array.from(
        { length: count },
        (_, index) => `${JSON.stringify(personAt(from + index))}\n`,
      ).join(''),
    );
  }
  closeSync(file);
  renameSync(`${path}.part`, path);
  return path;
}
