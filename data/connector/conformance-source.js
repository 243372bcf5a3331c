// How the suite of sources tries the source: a config, and the records that it then reads.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder = '';
let files = 0;
const records = Array.from({ length: 24 }, (_, id) => ({ id, name: `number ${id}`, even: id % 2 === 0 }));

function put(content) {
  const path = join(folder, `${(files += 1)}.jsonl`);
  writeFileSync(path, content);
  return path;
}

const linesOf = (values) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

export const sourceFixtures = [
  {
    start: async () => void (folder = mkdtempSync(join(tmpdir(), 'CONNECTOR-'))),
    stop: async () => rmSync(folder, { recursive: true, force: true }),
    records,
    config: () => ({ path: put(linesOf(records)) }),
    empty: () => ({ path: put('') }),
    // The data set changes before the first page is asked for.
    change: async ({ path }) => {
      const changed = [...records, { id: 99, name: 'a late one', even: false }];
      writeFileSync(path, linesOf(changed));
      return changed;
    },
    // What cannot work has to fail with a `ConnectorError`.
    broken: {
      'a file that is not there': () => ({ path: join(folder, 'none.jsonl') }),
      'a line that is not JSON': () => ({ path: put('{"id": 1}\n{"id": \n') }),
    },
  },
];
