import { basename, join } from 'node:path';
import { z } from 'zod';
import type { SinkContext } from '../../kit/context.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Page } from '../../kit/page.ts';
import { recordWriter } from '../../kit/record-text.ts';
import { batchSize, boolean, finding } from '../../kit/schema.ts';
import {
  APPEND_ONLY,
  defineSink,
  requireOpen,
  type FinishReason,
  type Sink,
  type WriteResult,
} from '../../kit/sink.ts';
import type { WrittenFile } from '../../lib/files/written-file.ts';
import { AppendingFile } from '../_files/output/appending-file.ts';
import { tellOldFileStays } from '../_files/output/no-records.ts';
import { ReplacingFile, hasPartToEnd } from '../_files/output/replacing-file.ts';
import { chooseCodec, codecOfName } from '../_files/compression/compression.ts';
import { compression, encryption, filePath, onFailure } from '../_files/config.ts';
import { encryptLine } from '../_files/json/json-lines-file.ts';
import { resolvePath, fileUri } from '../_files/paths.ts';
import { probeFolder } from '../_files/output/probe-folder.ts';
import { JSON_RULES, ENCRYPTED_RULES } from '../_files/lines/line-rules.ts';
import { blankTornEnd, repairTornEnd } from '../_files/lines/torn-end.ts';

const config = z.lazy(() =>
  z
    .strictObject({
      path: filePath('File to write; its folders are created.'),
      append: boolean()
        .default(false)
        .meta({ description: 'Whether to continue an existing file instead of replacing it.' }),
      pretty: boolean()
        .default(false)
        .meta({ description: 'Whether to indent; then a record is no longer one line.' }),
      batch_size: batchSize().meta({
        description: 'Accepted for uniformity; records are written as they come.',
      }),
      on_failure: onFailure(),
      compression: compression('the file'),
      encryption: encryption(),
    })
    .superRefine((value, ctx) => {
      if (value.encryption === undefined) return;
      const codec = value.compression === 'auto' ? codecOfName(value.path) : value.compression;
      if (codec !== 'none') {
        const hint = 'drop one of them; a path ending in .gz or .zst asks for compression too';
        ctx.addIssue(
          finding('invalid_value', '`encryption` and `compression` cannot be combined', {
            path: ['encryption'],
            hint,
          }),
        );
      }
      if (value.pretty) {
        ctx.addIssue(
          finding('invalid_value', '`pretty` has no place in an encrypted file', {
            path: ['pretty'],
            hint: 'drop `pretty`',
          }),
        );
      }
    }),
);

type JsonlSinkConfig = z.infer<typeof config>;

export const jsonlSink = defineSink<JsonlSinkConfig>({
  type: 'jsonl',
  description: 'Writes a file of JSON values, one a line.',
  config,
  examples: [
    { path: 'out/events.jsonl' },
    { path: 'out/events.jsonl.zst', append: true },
    { path: 'out/dead-letters.jsonl', append: true, encryption: { key: 'a long key text' } },
  ],
  capabilities: (value) => {
    const plain = !value.pretty && value.encryption === undefined;
    return { ...APPEND_ONLY, encodings: plain ? [JSON_LINES.name] : [], columns: plain };
  },
  datasetUri: (value) => fileUri(value.path),
  localPath: (value) => value.path,
  readBack: ({ path, compression: codec, encryption: cipher, pretty }) =>
    pretty
      ? undefined
      : {
          type: 'jsonl',
          config: {
            path,
            compression: codec,
            ...(cipher === undefined ? {} : { encryption: { ...cipher } }),
          },
        },
  temporary: (value, folder) => ({
    ...value,
    path: join(folder, basename(value.path)),
    pretty: false,
  }),
  open: async (value, context) => new JsonlSink(value, context),
  probe: (value, context) => probeFolder(resolvePath(context.env.cwd, value.path)),
});

const UNSURE_BYTES = 8 * 1024 * 1024;

class JsonlSink implements Sink {
  readonly #config: JsonlSinkConfig;
  readonly #context: SinkContext;
  #file: AppendingFile | ReplacingFile | undefined;
  /** What the first file was; others take its place. */
  #written: readonly WrittenFile[] | undefined;
  /** Dead letters written since the file was last known to be the one that is read. */
  readonly #unsure: Uint8Array[] = [];
  #unsureBytes = 0;
  #isClosed = false;

  constructor(value: JsonlSinkConfig, context: SinkContext) {
    this.#config = value;
    this.#context = context;
  }

  get #path(): string {
    return resolvePath(this.#context.env.cwd, this.#config.path);
  }

  /** Dead letters of earlier runs must stay, whatever the config says. */
  get #appends(): boolean {
    return this.#config.append || this.#context.role === 'dlq';
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    if (page.count === 0) return { written: 0, rejected: [] };
    this.#context.signal.throwIfAborted();
    const bytes = this.#encode(page);
    this.#file ??= await this.#open();
    await this.#file.write(bytes);
    if (this.#context.role === 'dlq') await this.#remember(bytes);
    return { written: page.count, rejected: [] };
  }

  async flush(): Promise<void> {
    await this.#file?.flush();
    while (this.#unsure.length > 0 && this.#isReplaced) await this.#writeAgain();
    this.#unsure.length = 0;
    this.#unsureBytes = 0;
  }

  async #remember(bytes: Uint8Array): Promise<void> {
    this.#unsure.push(bytes);
    this.#unsureBytes += bytes.length;
    if (this.#unsureBytes >= UNSURE_BYTES) await this.flush();
  }

  get #isReplaced(): boolean {
    return this.#file instanceof AppendingFile && this.#file.isReplaced;
  }

  /** Whoever discards dead letters puts another file in the place of theirs. */
  async #writeAgain(): Promise<void> {
    this.#written ??= this.#file?.written;
    await this.#file?.close();
    this.#file = await this.#open();
    for (const bytes of this.#unsure) await this.#file.write(bytes);
    await this.#file.flush();
  }

  async finish(reason: FinishReason): Promise<void> {
    const isEmpty = this.#file === undefined && reason === 'success' && !this.#appends;
    if (isEmpty && (await hasPartToEnd(this.#path, this.#context))) this.#file = await this.#open();
    else if (isEmpty) tellOldFileStays(this.#path, this.#context);
    if (this.#file instanceof ReplacingFile) await this.#file.finish(reason);
    else await this.flush();
  }

  outputs(): readonly WrittenFile[] {
    return this.#written ?? this.#file?.written ?? [];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#file?.close().catch(() => {});
    this.#file = undefined;
  }

  #encode(page: Page): Uint8Array {
    const { pretty, encryption: cipher } = this.#config;
    const write = recordWriter(page.schema);
    if (cipher !== undefined) {
      return Buffer.from(
        page
          .records()
          .map((record) => `${encryptLine(cipher.key, write(record))}\n`)
          .join(''),
      );
    }
    if (!pretty) return page.block(JSON_LINES);
    return Buffer.from(
      page
        .records()
        .map((record) => `${write(record, 2)}\n`)
        .join(''),
    );
  }

  async #open(): Promise<AppendingFile | ReplacingFile> {
    const { env, signal } = this.#context;
    const path = this.#path;
    const codec = chooseCodec(this.#config.compression, this.#config.path, env.log);
    const rules = this.#config.encryption === undefined ? JSON_RULES : ENCRYPTED_RULES;
    const prepare = (part: string) =>
      repairTornEnd(rules, { path: part, codec, log: env.log, signal });
    if (this.#appends) {
      // Several servers and commands may add to one queue of dead letters.
      const isShared = this.#context.role === 'dlq' && codec === 'none' && !this.#config.pretty;
      await (isShared ? blankTornEnd(rules, { path, codec, log: env.log, signal }) : prepare(path));
      return AppendingFile.open({ path, codec, truncate: false });
    }
    const inPlace = this.#config.on_failure === 'keep_partial';
    return ReplacingFile.open({ path, codec, context: this.#context, inPlace, prepare });
  }
}
