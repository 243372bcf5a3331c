// How the suite of sinks tries the sink: empty destinations, and a way to look at what is in them.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder = '';
let files = 0;

export const sinkFixtures = [
  {
    start: async () => void (folder = mkdtempSync(join(tmpdir(), 'CONNECTOR-'))),
    stop: async () => rmSync(folder, { recursive: true, force: true }),
    // Settings with which a second run adds to what the first one left: all runs do.
    continuing: {},
    // What cannot work has to fail with a `ConnectorError`.
    broken: () => ({ 'a folder that is a device': { path: '/dev/null/out.jsonl' } }),
    async fresh() {
      const path = join(folder, `${(files += 1)}.jsonl`);
      // Read without the sink: what it wrote has to be there for others.
      const rows = async () => (existsSync(path) ? parse(readFileSync(path, 'utf8')) : undefined);
      return { config: { path }, rows };
    },
  },
];

function parse(content) {
  return content
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
