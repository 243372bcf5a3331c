// Reads a file of JSON lines. Replace `linesOf` by what reads your system, and the config by what
// it needs.
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  batchSize,
  ConnectorError,
  defineSource,
  messageOf,
  Page,
  pageBounds,
  PageFill,
  parseData,
  permittedFile,
  text,
  z,
} from 'headgate/kit';

export const source = defineSource({
  type: 'CONNECTOR',
  description: 'Records of a file, one JSON value on each line.',
  // Behind `lazy`: it is built when a document names the connector.
  config: z.lazy(() =>
    z.strictObject({
      path: text().meta({ description: 'The file to read.' }),
      batch_size: batchSize(),
    }),
  ),
  examples: [{ path: 'in.jsonl' }],
  capabilities: () => ({ replay: 'none', bookmarks: true, encodings: [] }),
  datasetUri: ({ path }) => pathToFileURL(resolve(path)).href,
  localPath: ({ path }) => resolve(path),
  async open(config, context) {
    return {
      pages: ({ bookmark }) => pagesOf(config, context, Number(bookmark ?? 0)),
      close: async () => {},
    };
  },
});

/** The bookmark of a page is the number of lines up to its end: where the next run goes on. */
async function* pagesOf({ path, batch_size }, { signal, pageBytes }, after) {
  const fill = new PageFill(pageBounds(batch_size, pageBytes));
  let records = [];
  let lines = 0;
  const page = () => {
    const made = Page.ofRecords(records, { bookmark: lines, bytes: fill.bytes });
    records = [];
    fill.clear();
    return made;
  };
  for await (const line of linesOf(path, signal)) {
    if (lines >= after && line.trim() !== '') {
      const size = Buffer.byteLength(line) + 1;
      if (!fill.add(size)) {
        yield page();
        fill.add(size);
      }
      records.push(recordOf(line, lines + 1));
    }
    lines += 1;
    if (fill.isFull) yield page();
  }
  if (records.length > 0) yield page();
}

async function* linesOf(path, signal) {
  let rest = '';
  try {
    const file = createReadStream(permittedFile(path), { encoding: 'utf8' });
    for await (const chunk of file) {
      signal.throwIfAborted();
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        signal.throwIfAborted();
        yield line;
      }
    }
  } catch (error) {
    if (signal.aborted || error instanceof ConnectorError) throw error;
    const kind = error.code === 'ENOENT' ? 'missing' : 'refused';
    throw new ConnectorError(kind, `cannot read \`${path}\`: ${messageOf(error)}`);
  }
  if (rest !== '') yield rest;
}

function recordOf(line, number) {
  try {
    return parseData(line);
  } catch (error) {
    throw new ConnectorError('data', `line ${number} is not JSON: ${messageOf(error)}`);
  }
}
