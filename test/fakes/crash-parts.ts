/**
 * Entry of a crash process for tests: a build with sinks that do not keep what sinks promise, and
 * one that cannot be made anew.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { serveAttempts } from '../../src/features/fixtures/crash/serve-attempts.ts';
import { csvSink, csvSource } from '../../src/connectors/csv/index.ts';
import { jsonlSink, jsonlSource } from '../../src/connectors/jsonl/index.ts';
import { parquetSink, parquetSource } from '../../src/connectors/parquet/index.ts';
import { sqliteSink, sqliteSource } from '../../src/connectors/sqlite/index.ts';
import { createParts } from '../../src/kit/parts.ts';
import {
  APPEND_ONLY,
  defineSink,
  type SinkCapabilities,
  type SinkDefinition,
} from '../../src/kit/sink.ts';
import { fileState } from '../../src/state/file.ts';
import { memoryState } from '../../src/state/memory.ts';
import { cast } from '../../src/transforms/cast/cast.ts';
import { defineSource } from '../../src/kit/source.ts';
import { stringifyJson, type JsonValue } from '../../src/lib/text/json.ts';

const path = z.strictObject({ path: z.string() });

interface Fault {
  /** Says that everything is durable, and writes it only when it is closed. */
  readonly hasty?: boolean;
  readonly capabilities?: Partial<SinkCapabilities>;
}

function faultySink(type: string, { hasty = false, capabilities }: Fault): SinkDefinition {
  return defineSink<{ path: string }>({
    type,
    description: 'a sink with a fault',
    config: path,
    examples: [],
    capabilities: () => ({ ...APPEND_ONLY, ...capabilities }),
    datasetUri: (config) => config.path,
    readBack: ({ path: file }) => ({ type: 'jsonl', config: { path: file } }),
    temporary: (_config, folder) => ({ path: join(folder, 'out.jsonl') }),
    open: (config) => {
      const pending: JsonValue[] = [];
      const settle = (): Promise<void> => {
        mkdirSync(dirname(config.path), { recursive: true });
        appendFileSync(
          config.path,
          pending
            .splice(0)
            .map((record) => `${stringifyJson(record)}\n`)
            .join(''),
        );
        return Promise.resolve();
      };
      return Promise.resolve({
        write(page) {
          pending.push(...page.records());
          return Promise.resolve({ written: page.count, rejected: [] });
        },
        flush: () => (hasty ? Promise.resolve() : settle()),
        finish: () => Promise.resolve(),
        close: settle,
      });
    },
  });
}

const remote = defineSink({
  type: 'remote',
  description: 'a sink far away, with every capability',
  config: z.looseObject({
    write_mode: z.enum(['append', 'upsert', 'overwrite']).default('append'),
    key: z.array(z.string()).default([]),
  }),
  examples: [],
  capabilities: ({ write_mode: writeMode, key }) => ({
    ...APPEND_ONLY,
    writeModes: ['append', 'upsert', 'overwrite'],
    writeMode,
    key,
    token: writeMode !== 'overwrite',
    idempotent: writeMode === 'upsert',
  }),
  datasetUri: () => 'remote:',
  open: () => Promise.reject(new Error('this sink is too far away')),
});

const changes = defineSource({
  type: 'changes',
  description: 'a change log',
  config: z.strictObject({}),
  examples: [],
  capabilities: () => ({ replay: 'positional', bookmarks: true, encodings: [] }),
  datasetUri: () => 'changes:',
  open: () => Promise.reject(new Error('this source cannot be read')),
});

/** A small build: every crash starts a process that has to load it. */
export const crashParts = createParts({
  sources: [changes, csvSource, jsonlSource, parquetSource, sqliteSource],
  sinks: [
    csvSink,
    jsonlSink,
    parquetSink,
    remote,
    sqliteSink,
    faultySink('hasty', { hasty: true }),
    faultySink('careless', {
      capabilities: { writeModes: ['upsert'], writeMode: 'upsert', key: ['id'], idempotent: true },
    }),
  ],
  transforms: [cast],
  states: [fileState, memoryState],
  credentials: [],
  secrets: [],
});

// Tests import the list; the process serves it.
if (process.send !== undefined && process.argv[1] === import.meta.filename)
  serveAttempts(crashParts);
