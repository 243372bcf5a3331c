import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringifyJson } from '../../lib/text/json.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { jsonlSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-jsonl-'));
const path = join(folder, 'events.jsonl');
const records = Array.from({ length: 20 }, (_, index) => ({
  id: index,
  big: 9_007_199_254_740_993n + BigInt(index),
  text: 'é"\n',
  nested: { list: [1, null] },
}));
writeFileSync(path, records.map((record) => stringifyJson(record)).join('\n'));
writeFileSync(join(folder, 'broken.jsonl'), '{"a":1}\n{"a":\n');

describeSource(jsonlSource, {
  config: () => ({ path }),
  records,
  broken: {
    'a missing file': { path: join(folder, 'no-such.jsonl') },
    'a line that is not JSON': { path: join(folder, 'broken.jsonl') },
  },
});
