/**
 * `node digest-lines.ts FILE FIELDS [MEMBER]`: the digest of a JSON Lines file, of the whole records
 * or of what is in one member of them; other fields than these are an error.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createDigest } from '../digest.ts';

const [path = '', list = '', member] = process.argv.slice(2);
const fields = list.split(',');
const digest = createDigest();
for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
  const whole = JSON.parse(line) as Record<string, unknown>;
  const record = (member === undefined ? whole : whole[member]) as typeof whole;
  if (Object.keys(record).length !== fields.length)
    throw new Error(`these are not the fields ${list}: ${line}`);
  digest.add(fields.map((field) => record[field]));
}
console.log(JSON.stringify(digest.digest()));
