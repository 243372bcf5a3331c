import { mkdtempSync, readFileSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeSink } from '../../../test/conformance/sink.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { csvSink, csvSource } from './index.ts';

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

let made = 0;
describeSink(csvSink, {
  fresh: () => {
    made += 1;
    const file = join(folder, `out-${made}.csv`);
    return Promise.resolve({
      config: { path: file },
      rows: () => {
        if (!existsSync(file)) return Promise.resolve(undefined);
        const [, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
        return Promise.resolve(
          lines.map((line) => ({ id: Number(line.split(',')[0]), v: line.split(',')[1] ?? '' })),
        );
      },
    });
  },
  broken: { 'a folder that is a file': { path: join(path, 'out.csv') } },
});
