// Adds records to a file of JSON lines. Replace the file by your system, and the config by what it
// needs.
import { constants, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  APPEND_ONLY,
  ConnectorError,
  defineSink,
  fileToWrite,
  JSON_LINES,
  messageOf,
  permittedFile,
  requireOpen,
  text,
  z,
} from 'headgate/kit';

export const sink = defineSink({
  type: 'CONNECTOR',
  description: 'Adds records to a file, one JSON value on each line.',
  // Behind `lazy`: it is built when a document names the connector.
  config: z.lazy(() =>
    z.strictObject({ path: text().meta({ description: 'The file to write.' }) }),
  ),
  examples: [{ path: 'out.jsonl' }],
  // What it promises; `headgate conformance` holds it to every word.
  capabilities: () => APPEND_ONLY,
  datasetUri: ({ path }) => pathToFileURL(resolve(path)).href,
  localPath: ({ path }) => resolve(path),
  async open({ path }) {
    return new LineWriter(resolve(path));
  },
});

class LineWriter {
  #path;
  #file;
  #written;
  #isClosed = false;

  constructor(path) {
    this.#path = path;
  }

  async write(page) {
    requireOpen(this.#isClosed);
    await this.#use((file) => file.appendFile(JSON_LINES.encode(page.records())));
    return { written: page.count, rejected: [] };
  }

  /** Everything so far is on the disk afterwards, and others can read it. */
  async flush() {
    await this.#use((file) => file.sync());
  }

  async finish() {}

  outputs() {
    return this.#written === undefined ? [] : [this.#written];
  }

  async close() {
    this.#isClosed = true;
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => {});
  }

  async #use(work) {
    try {
      this.#file ??= await this.#open();
      await work(this.#file);
    } catch (error) {
      if (error instanceof ConnectorError) throw error;
      throw new ConnectorError('refused', `cannot write \`${this.#path}\`: ${messageOf(error)}`);
    }
  }

  async #open() {
    const path = permittedFile(this.#path);
    this.#written = fileToWrite(path, { append: true });
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND);
    await removeHalfLine(file);
    return file;
  }
}

/** A run that was killed may have left one at the end. */
async function removeHalfLine(file) {
  const { size } = await file.stat();
  const piece = Buffer.alloc(64 * 1024);
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - piece.length);
    const { bytesRead } = await file.read(piece, 0, end - from, from);
    const newline = piece.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (newline !== -1 || from === 0) {
      const keep = newline === -1 ? 0 : from + newline + 1;
      if (keep < size) await file.truncate(keep);
      return;
    }
    end = from;
  }
}
