/** What the sinks of objects have in common: objects appear whole, when the run has succeeded. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SinkContext } from '../../kit/context.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Page } from '../../kit/page.ts';
import {
  APPEND_ONLY,
  requireOpen,
  type FinishReason,
  type Sink,
  type SinkCapabilities,
  type SinkDefinition,
  type WriteResult,
} from '../../kit/sink.ts';
import { messageOf } from '../../lib/errors.ts';
import type { ObjectStore, ObjectUpload } from '../../lib/objects/object-store.ts';
import { PartRecords, type Part } from '../_files/write/part-records.ts';
import { renderPart } from '../_files/write/render-part.ts';
import { isPlainLines } from '../_files/write/writing-blocks.ts';
import { partKey, WrittenObjects } from './written-objects.ts';
import { contentTypeOf } from './content-type.ts';
import { probeStore } from './probe-store.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { isCapped, keyPattern, writingOf, type ObjectWriting } from './sink-fields.ts';

export interface SinkOfObjects<C extends ObjectWriting> {
  readonly openStore: (config: C, context: SinkContext) => Promise<ObjectStore>;
  readonly address: (config: C, prefix: string) => string;
}

type Shared = 'concurrencyKeys' | 'capabilities' | 'datasetUri' | 'place' | 'open' | 'probe';

/** The members of a definition that are the same for every store. */
export function sinkOfObjects<C extends ObjectWriting>(
  kind: SinkOfObjects<C>,
): Pick<SinkDefinition<C>, Shared> {
  return {
    concurrencyKeys: ['concurrency'],
    capabilities: capabilitiesOf,
    datasetUri: (config) => kind.address(config, config.prefix + (config.path ?? '')),
    place: (config) => kind.address(config, keyPattern(config, { own: '*' })),
    open: async (config, context) => {
      const { avro } = config;
      if (avro.schema !== undefined && writingOf(config).format === 'avro') {
        const { requireAvroSchema } = await import('../_files/avro/avro-writer.ts');
        await requireAvroSchema(avro.schema);
      }
      return new ObjectSink(config, context, await kind.openStore(config, context));
    },
    probe: (config, context) =>
      probeStore(() => kind.openStore(config, context), config.prefix, context.signal),
  };
}

function capabilitiesOf(config: ObjectWriting): SinkCapabilities {
  return {
    ...APPEND_ONLY,
    writeModes: ['append', 'overwrite'],
    writeMode: config.write_mode,
    atomicity: isCapped(config) ? 'best_effort' : 'atomic',
    flushDurable: false,
    // A bound of bytes looks at each record.
    encodings:
      isPlainLines(writingOf(config)) && config.max_bytes_per_file === undefined
        ? [JSON_LINES.name]
        : [],
  };
}

/** An upload that only has to be committed. */
interface Ready {
  readonly key: string;
  readonly upload: ObjectUpload;
}

class ObjectSink implements Sink {
  readonly #config: ObjectWriting;
  readonly #context: SinkContext;
  readonly #store: ObjectStore;
  readonly #records: PartRecords;
  readonly #objects: WrittenObjects;
  /** How many objects this run has made already. */
  #made = 0;
  #folder: Promise<string> | undefined;
  #isClosed = false;
  #isDiscarded = false;

  constructor(config: ObjectWriting, context: SinkContext, store: ObjectStore) {
    this.#config = config;
    this.#context = context;
    this.#store = store;
    this.#objects = new WrittenObjects(config, { context, store });
    this.#records = new PartRecords({
      writing: writingOf(config),
      caps: config,
      context,
      name: store.address + keyPattern(config, { own: '*' }),
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
    if (this.#context.role === 'dlq') {
      await this.#publish();
      return;
    }
    this.#isDiscarded = reason !== 'success';
    if (this.#isDiscarded) return;
    if (this.#records.parts.length === 0 && (await this.#objects.needsEmpty()))
      await this.#records.open();
    const ours = await this.#publish();
    await this.#objects.removeOthers(ours);
  }

  discarded(): boolean {
    return this.#isDiscarded;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#records.removeSpools();
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => {});
    this.#store.close();
  }

  async #place(count: number): Promise<{ readonly target: string; readonly beside: string }> {
    const first = await this.#objects.firstPart();
    const number = first + this.#made + count;
    this.#folder ??= temporaryFolder();
    const beside = join(await this.#folder, `part-${number}`);
    return { target: partKey(this.#objects.pattern, number), beside };
  }

  /** Sends every object as far as it goes, and makes them visible when all are there. */
  async #publish(): Promise<ReadonlySet<string>> {
    const { parts } = this.#records;
    const ready: Ready[] = [];
    const keys = new Set(parts.map(({ target }) => target));
    try {
      for (const part of parts) await this.#send(part, ready);
      await this.#commit(ready);
    } finally {
      for (const { upload } of ready) await this.#abort(upload);
    }
    this.#made += parts.length;
    await this.#records.removeSpools();
    return keys;
  }

  async #send({ target, spool }: Part, ready: Ready[]): Promise<void> {
    const upload = this.#store.upload(target, {
      contentType: contentTypeOf(writingOf(this.#config).format),
      sendsParts: this.#records.parts.length > 1,
      concurrency: Math.max(1, this.#config.concurrency),
      signal: this.#context.signal,
    });
    ready.push({ key: target, upload });
    for await (const block of renderPart(spool, this.#records.rendering()))
      await upload.write(block);
    await upload.end();
  }

  /** Objects that have a name of their own are removed again when one of the others fails. */
  async #commit(ready: readonly Ready[]): Promise<void> {
    const done: string[] = [];
    try {
      for (const { key, upload } of ready) {
        await upload.commit();
        done.push(key);
      }
    } catch (error) {
      if (this.#config.path === undefined)
        for (const key of done) await this.#objects.remove(key).catch(() => {});
      throw error;
    }
  }

  /** What was committed stays. */
  async #abort(upload: ObjectUpload): Promise<void> {
    try {
      await upload.abort();
    } catch (error) {
      this.#context.env.log.warn('parts of an object that was not finished are left in the store', {
        place: this.#store.address,
        reason: messageOf(error),
        hint: 'have the store remove unfinished uploads after some days',
      });
    }
  }
}
