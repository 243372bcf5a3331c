/**
 * `node json-loop.ts IN OUT`: reads every line of a JSON Lines file into an object and writes it
 * again.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { once } from 'node:events';

const LINE_FEED = '\n';
const [input = '', output = ''] = process.argv.slice(2);
const out = createWriteStream(output);
let rest = '';
for await (const chunk of createReadStream(input, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
  const lines = `${rest}${chunk as string}`.split(LINE_FEED);
  rest = lines.pop() ?? '';
  const written = lines.map((line) => `${JSON.stringify(JSON.parse(line))}${LINE_FEED}`).join('');
  if (!out.write(written)) await once(out, 'drain');
}
if (rest !== '') out.write(`${JSON.stringify(JSON.parse(rest))}${LINE_FEED}`);
out.end();
await once(out, 'close');
