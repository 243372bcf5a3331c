import { fileURLToPath } from 'node:url';
import type { SinkTools } from '../../src/conformance/sink/tools.ts';
import { SOURCES } from '../../src/connectors/index.ts';

/** For the sinks of this build, and for the broken ones. */
export const SINK_TOOLS: SinkTools = {
  sources: SOURCES,
  writer: {
    entry: fileURLToPath(new URL('killed-writer-process.ts', import.meta.url)),
    words: [],
  },
};
