import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { describeSink, type Destination } from '../../../test/conformance/sink.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { jsonlSink, jsonlSource } from './index.ts';

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

const READERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  '.jsonl': (bytes) => bytes,
  '.jsonl.gz': (bytes) => gunzipSync(bytes),
  '.jsonl.zst': (bytes) => zstdDecompressSync(bytes),
};

let made = 0;
for (const [suffix, unpack] of Object.entries(READERS)) {
  const fresh = (): Promise<Destination> => {
    made += 1;
    const file = join(folder, `out-${made}${suffix}`);
    return Promise.resolve({
      config: { path: file },
      rows: () => {
        if (!existsSync(file)) return Promise.resolve(undefined);
        const lines = unpack(readFileSync(file))
          .toString('utf8')
          .split('\n')
          .filter((line) => line !== '');
        return Promise.resolve(lines.map((line) => JSON.parse(line) as JsonObject));
      },
    });
  };
  describeSink(jsonlSink, {
    fresh,
    broken: { 'a folder that is a file': { path: join(path, 'out.jsonl') } },
  });
}
