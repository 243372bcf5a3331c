/**
 * `node udsv-loop.ts IN OUT`: the plainest record loop there is, with the fastest CSV library: an
 * object a row, written as JSON.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { inferSchema, initParser, type BaseParse, type Parser } from 'udsv';

const [input = '', output = ''] = process.argv.slice(2);
const source = createReadStream(input, { encoding: 'utf8', highWaterMark: 1 << 16 });
const sink = createWriteStream(output);
let parser: Parser | undefined;
let lines = '';
const collect = (record: object): void => {
  lines += `${JSON.stringify(record)}\n`;
};

for await (const chunk of source as AsyncIterable<string>) {
  parser ??= initParser(inferSchema(chunk));
  // Its declarations do not say that its own parsers fit.
  parser.chunk(chunk, parser.stringObjs as BaseParse<object>, collect);
  const free = sink.write(lines);
  lines = '';
  if (!free) await new Promise<void>((resume) => sink.once('drain', resume));
}
parser?.end();
sink.end(lines);
await finished(sink);
