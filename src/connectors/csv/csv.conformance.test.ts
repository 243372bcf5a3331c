import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeSource } from '../../../test/conformance/source.ts';
import { csvSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-csv-'));
const path = join(folder, 'people.csv');
const records = Array.from({ length: 20 }, (_, index) => ({
  id: String(index),
  name: `n "${index}", yes\nline two`,
  empty: '',
}));
writeFileSync(
  path,
  `id,name,empty\n${records.map(({ id, name }) => `${id},"${name.replaceAll('"', '""')}",`).join('\r\n')}\n`,
);
writeFileSync(join(folder, 'ragged.csv'), 'a,b\n1,2\n3\n');

describeSource(csvSource, {
  config: () => ({ path }),
  records,
  broken: {
    'a missing file': { path: join(folder, 'no-such.csv') },
    'a ragged row': { path: join(folder, 'ragged.csv') },
    'a folder': { path: folder },
  },
});
