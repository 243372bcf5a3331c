/**
 * `node digest-lines.ts FILE FIELDS`: the digest of a JSON Lines file; a record with other fields
 * than these is an error.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createDigest } from '../digest.ts';

const [path = '', list = ''] = process.argv.slice(2);
const fields = list.split(',');
const digest = createDigest();
for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
  const record = JSON.parse(line) as Record<string, unknown>;
  if (Object.keys(record).length !== fields.length)
    throw new Error(`these are not the fields ${list}: ${line}`);
  digest.add(fields.map((field) => record[field]));
}
console.log(JSON.stringify(digest.digest()));
