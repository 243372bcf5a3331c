/** Small parts with every kind of capability, for tests of the plan. Nothing here can be opened. */
import { z } from 'zod';
import { defineCredential } from '../../src/kit/credential.ts';
import { createParts, type Parts } from '../../src/kit/parts.ts';
import { boolean, finding, integer, optional, text } from '../../src/kit/schema.ts';
import { APPEND_ONLY, defineSink } from '../../src/kit/sink.ts';
import { defineSource } from '../../src/kit/source.ts';
import { defineStateStore } from '../../src/kit/state-store.ts';
import { defineTransform } from '../../src/kit/transform.ts';
import { checkWriteFields, isKeyed, writeFields } from '../../src/kit/write-spec.ts';

const closed = (): never => {
  throw new Error('a fake part cannot be opened');
};
const authField = optional(z.record(z.string(), z.unknown())).meta({ description: 'Login.' });

const lines = defineSource<{ path: string; batch_size: number }>({
  type: 'lines',
  aliases: ['textlines'],
  description: 'lines of a file',
  config: z.strictObject({
    path: text().meta({ description: 'File.' }),
    batch_size: integer({ min: 0, max: 1_000_000 })
      .default(1000)
      .meta({ description: 'Page size.' }),
    auth: authField,
  }),
  examples: [{ path: 'a' }],
  capabilities: () => ({ replay: 'none', bookmarks: true, encodings: ['jsonl'] }),
  datasetUri: (config) => `file:${config.path}`,
  open: closed,
});

const changes = defineSource({
  type: 'changes',
  description: 'a change log',
  config: z.strictObject({
    since: optional(integer()).meta({ description: 'Position.' }),
    mode: z.enum(['fast', 'safe']).default('fast'),
  }),
  examples: [{}],
  capabilities: () => ({ replay: 'positional', bookmarks: true, encodings: [] }),
  datasetUri: () => 'changes:',
  anchors: { take: closed, check: closed },
  open: closed,
});

const numbers = defineSource({
  type: 'numbers',
  description: 'counts up to a number',
  config: z
    .strictObject({
      to: integer({ min: 1 }).meta({ description: 'Last number.' }),
      step: optional(integer({ min: 1 })),
    })
    .superRefine((config, ctx) => {
      if (config.step !== undefined && config.step > 100)
        ctx.addIssue(finding('out_of_range', '`step` is too large', { path: ['step'] }));
    }),
  examples: [{ to: 3 }],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: () => 'numbers:',
  open: closed,
});

const lineFile = defineSink<{ path: string; append: boolean }>({
  type: 'lines',
  description: 'a file of lines',
  config: z.strictObject({
    path: text().meta({ description: 'File.' }),
    append: boolean().default(false).meta({ description: 'Whether to continue the file.' }),
  }),
  examples: [{ path: 'a' }],
  capabilities: () => ({ ...APPEND_ONLY, encodings: ['jsonl'] }),
  datasetUri: (config) => `file:${config.path}`,
  localPath: (config) => config.path,
  open: closed,
});

const table = defineSink({
  type: 'table',
  description: 'a table with every write mode',
  config: z
    .strictObject({
      table: text().meta({ description: 'Table.' }),
      auth: authField,
      ...writeFields(['append', 'upsert', 'delete', 'overwrite']),
    })
    .superRefine(checkWriteFields),
  examples: [{ table: 't' }],
  capabilities: (config) => ({
    ...APPEND_ONLY,
    writeModes: ['append', 'upsert', 'delete', 'overwrite'],
    writeMode: config.write_mode,
    key: config.key,
    atomicity: 'atomic',
    perRow: true,
    token: config.write_mode !== 'overwrite',
    schema: config.write_mode === 'overwrite' ? 'read' : 'evolve',
    idempotent: isKeyed(config.write_mode),
  }),
  datasetUri: (config) => `table:${config.table}`,
  open: closed,
});

const nowhere = defineSink({
  type: 'nowhere',
  description: 'forgets everything',
  config: z.strictObject({}),
  examples: [{}],
  capabilities: () => APPEND_ONLY,
  datasetUri: () => 'null:',
  open: closed,
});

const keep = defineTransform<{ fields: string[] }>({
  type: 'keep',
  description: 'keeps fields',
  config: z.strictObject({ fields: z.array(text()).min(1).meta({ description: 'Fields.' }) }),
  examples: [],
  reads: (config) => ({ kind: 'fields', names: config.fields }),
  columns: (config) => ({ kind: 'select', fields: config.fields }),
  compile: closed,
});

const set = defineTransform({
  type: 'set',
  description: 'sets values',
  config: z.strictObject({
    values: z.record(z.string(), z.unknown()).meta({ description: 'Values.' }),
    note: optional(text()),
  }),
  examples: [],
  runtimeTokens: true,
  reads: () => ({ kind: 'fields', names: [] }),
  columns: () => ({ kind: 'opaque' }),
  compile: closed,
});

const folder = defineStateStore({
  type: 'folder',
  description: 'survives',
  config: z.strictObject({ path: text().meta({ description: 'Folder.' }) }),
  durable: true,
  examples: [{ path: 'a' }],
  open: closed,
});

const memory = defineStateStore({
  type: 'memory',
  description: 'forgets',
  config: z.strictObject({}),
  durable: false,
  examples: [{}],
  open: closed,
});

const fixed = defineCredential({
  type: 'static',
  description: 'a fixed token',
  config: z.strictObject({ token: text().meta({ description: 'Token.', secret: true }) }),
  examples: [{ token: 'abcd' }],
  open: closed,
});

export const FAKE_PARTS: Parts = createParts({
  sources: [lines, changes, numbers],
  sinks: [lineFile, table, nowhere],
  transforms: [keep, set],
  states: [folder, memory],
  credentials: [fixed],
  secrets: [],
});
