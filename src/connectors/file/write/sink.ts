import { access, copyFile, rm } from 'node:fs/promises';
import { renameOver } from '../../../lib/files/regular-file.ts';
import { dirname, join, normalize } from 'node:path';
import type { SinkContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import {
  APPEND_ONLY,
  defineSink,
  requireOpen,
  type FinishReason,
  type Sink,
  type WriteResult,
} from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { syncFolder } from '../../_files/output/appending-file.ts';
import { fileToWrite, type WrittenFile } from '../../../lib/files/written-file.ts';
import { onDisk } from '../../_files/io-error.ts';
import { fileUri, resolvePath } from '../../_files/paths.ts';
import { probeFolder } from '../../_files/output/probe-folder.ts';
import { removeLeftovers, temporaryPath } from '../../_files/output/temporary-path.ts';
import {
  canGrow,
  isCapped,
  isNumbered,
  sinkConfig,
  sinkFormat,
  writingOf,
  type FileSinkConfig,
} from './sink-config.ts';
import { PartRecords, type Part } from '../../_files/write/part-records.ts';
import { learnsColumns } from '../../_files/write/writing-blocks.ts';
import { absolutePattern, existingParts, isPartOf, partPath, pattern } from './targets.ts';
import { writePart } from './write-part.ts';
import { makeFolder } from '../../../lib/files/make-folder.ts';

export const fileSink = defineSink<FileSinkConfig>({
  type: 'file',
  description: 'Writes files of many formats; they appear whole, when the run has succeeded.',
  config: sinkConfig,
  examples: [
    { path: 'out/orders.csv' },
    { path: 'out/orders.jsonl.gz', if_exists: 'append' },
    {
      path: 'out/export/',
      format: 'parquet',
      max_records_per_file: 100_000,
      write_mode: 'overwrite',
    },
  ],
  capabilities: (config) => ({
    ...APPEND_ONLY,
    writeModes: ['append', 'overwrite'],
    writeMode: config.write_mode,
    atomicity: isCapped(config) ? 'best_effort' : 'atomic',
    flushDurable: false,
  }),
  datasetUri: (config) => fileUri(config.path),
  localPath: (config) => (isNumbered(config) ? undefined : config.path),
  place: (config) => normalize(pattern(config)),
  hasParts: isNumbered,
  open: async (config, context) => {
    if (config.avro.schema !== undefined && sinkFormat(config) === 'avro') {
      const { requireAvroSchema } = await import('../../_files/avro/avro-writer.ts');
      await requireAvroSchema(config.avro.schema);
    }
    return new FileSink(config, context);
  },
  probe: (config, context) =>
    probeFolder(
      join(resolvePath(context.env.cwd, config.path), config.path.endsWith('/') ? 'probe' : ''),
    ),
});

class FileSink implements Sink {
  readonly #config: FileSinkConfig;
  readonly #context: SinkContext;
  readonly #pattern: string;
  readonly #append: boolean;
  readonly #records: PartRecords;
  readonly #written: WrittenFile[] = [];
  #existing: Map<number, string> | undefined;
  #isClosed = false;
  #isDiscarded = false;

  constructor(config: FileSinkConfig, context: SinkContext) {
    this.#config = config;
    this.#context = context;
    this.#pattern = absolutePattern(config, context.env.cwd);
    // Dead letters of earlier runs must stay, whatever the config says.
    this.#append = config.if_exists === 'append' || context.role === 'dlq';
    if (this.#append && !isNumbered(config) && !canGrow(config)) {
      throw new ConnectorError('refused', 'a dead-letter file must be one that can be continued', {
        hint: 'use json_lines, or put `{part}` into the path',
      });
    }
    this.#records = new PartRecords({
      writing: writingOf(config),
      caps: config,
      context,
      name: config.path,
      place: (count) => this.#place(count),
    });
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    if (page.count === 0) return { written: 0, rejected: [] };
    this.#context.signal.throwIfAborted();
    await this.#records.add(page);
    return { written: page.count, rejected: [] };
  }

  /**
   * Dead letters are durable at once, because the bookmark after them is stored at once; everything
   * else waits for the end.
   */
  async flush(): Promise<void> {
    if (this.#context.role === 'dlq') await this.#publish();
  }

  async finish(reason: FinishReason): Promise<void> {
    if (this.#context.role === 'dlq') return this.#publish();
    this.#isDiscarded = reason !== 'success';
    if (this.#isDiscarded) return;
    const overwrite = this.#config.write_mode === 'overwrite';
    const { parts } = this.#records;
    if (parts.length === 0 && (overwrite || (await this.#emptiesOld()))) await this.#noRecords();
    const ours = new Set(parts.map((part) => part.target));
    const before = this.#existing?.values().toArray() ?? [];
    await this.#publish();
    if (this.#config.if_exists !== 'replace') return;
    for (const path of before) {
      if (!ours.has(path)) await onDisk('remove', path, () => rm(path));
    }
  }

  /** Without a record the columns of a typed file are unknown, so no file is written. */
  async #noRecords(): Promise<void> {
    if (learnsColumns(writingOf(this.#config))) this.#existing ??= await this.#look();
    else await this.#records.open();
  }

  /**
   * Whether a run without records leaves an empty file where an earlier run has left records. Where
   * positions are stored, no records are no news.
   */
  async #emptiesOld(): Promise<boolean> {
    if (this.#config.if_exists !== 'replace' || this.#context.progress === 'positions')
      return false;
    return (await existingParts(this.#pattern)).size > 0;
  }

  /**
   * Completes every file under a temporary name, and renames them only when all are complete.
   */
  async #publish(): Promise<void> {
    const made: { target: string; temporary: string }[] = [];
    try {
      for (const part of this.#records.parts)
        made.push({ target: part.target, temporary: await this.#make(part) });
      for (const { target, temporary } of made) {
        const written = fileToWrite(target, { append: this.#continues(target) });
        await onDisk('write', target, () => renameOver(temporary, target));
        this.#written.push(written);
      }
    } finally {
      for (const { temporary } of made) await rm(temporary, { force: true });
    }
    for (const { target } of made.slice(0, 1)) await syncFolder(target);
    await this.#records.removeSpools();
    this.#existing = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#records.removeSpools();
  }

  /** Where the next file goes; its records are collected in the same folder. */
  async #place(count: number): Promise<{ readonly target: string; readonly beside: string }> {
    this.#existing ??= await this.#look();
    const before =
      this.#append && isNumbered(this.#config) ? Math.max(0, ...this.#existing.keys()) : 0;
    const target = partPath(this.#pattern, before + count + 1);
    return { target, beside: target };
  }

  /** Looks at the destination once, before the first file. */
  async #look(): Promise<Map<number, string>> {
    const folder = dirname(this.#pattern);
    if (this.#config.create_dirs)
      await onDisk('create the folder', folder, () => makeFolder(folder));
    else await onDisk('write into', folder, () => access(folder));
    const existing = await existingParts(this.#pattern);
    await removeLeftovers(folder, isPartOf(this.#pattern));
    const [first] = existing.values();
    if (this.#config.if_exists === 'error' && !this.#append && first !== undefined) {
      throw new ConnectorError('refused', `${first} exists already`, {
        hint: 'move it away, or set `if_exists`',
      });
    }
    return existing;
  }

  outputs(): readonly WrittenFile[] {
    return this.#written;
  }

  discarded(): boolean {
    return this.#isDiscarded;
  }

  /** Whether the run adds to the content of an earlier run. */
  #continues(target: string): boolean {
    return this.#append && !isNumbered(this.#config) && this.#existing?.get(1) === target;
  }

  async #make({ target, spool }: Part): Promise<string> {
    const temporary = temporaryPath(target);
    const continued = this.#continues(target);
    if (continued) await onDisk('write', target, () => copyFile(target, temporary));
    try {
      await writePart(spool, {
        rendering: this.#records.rendering(),
        context: this.#context,
        temporary,
        continued,
      });
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return temporary;
  }
}
