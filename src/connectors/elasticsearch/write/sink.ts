import type { SinkContext } from '../../../kit/context.ts';
import { executionOf } from '../../../kit/execution.ts';
import type { Page } from '../../../kit/page.ts';
import {
  requireOpen,
  type FinishReason,
  type Rejection,
  type SchemaAccess,
  type Sink,
  type Sweep,
  type WriteOptions,
  type WriteResult,
} from '../../../kit/sink.ts';
import { keyedSpec, planKeyedPage, settle, type KeyedSpec } from '../../../kit/write-spec.ts';
import { ConnectorError, RecordError } from '../../../lib/errors.ts';
import { hasField, isObject, jsonText, type JsonValue } from '../../../lib/text/json.ts';
import type { ElasticsearchSinkConfig } from '../config.ts';
import { Link, step } from '../link.ts';
import { idOf, refusedId, sendChanges, type Bulk, type Change } from './bulk.ts';
import { schemaOf } from './schema.ts';
import { sweepIndex } from './sweep.ts';
import { Target } from './target.ts';

export class ElasticsearchSink implements Sink {
  readonly schema: SchemaAccess;
  readonly takeScope?: (scope: string) => Promise<void>;
  readonly sweep?: (sweep: Sweep) => Promise<number>;
  readonly #config: ElasticsearchSinkConfig;
  readonly #context: SinkContext;
  readonly #link: Link;
  readonly #target: Target;
  readonly #spec: KeyedSpec | undefined;
  #isUnseen = false;
  #isClosed = false;

  private constructor(config: ElasticsearchSinkConfig, context: SinkContext, link: Link) {
    const spec = keyedSpec(config, 'text');
    this.#config = config;
    this.#context = context;
    this.#link = link;
    this.#target = new Target(link, config, executionOf(context));
    this.#spec = spec === undefined ? undefined : { ...spec, replaces: true };
    this.schema = schemaOf(link, config.index);
    if (config.write_mode === 'overwrite')
      this.takeScope = (scope) => this.#target.takeScope(scope);
    if (config.write_mode === 'upsert')
      this.sweep = (sweep) => sweepIndex(this.#bulk(), { key: config.key }, sweep);
  }

  static async open(config: ElasticsearchSinkConfig, context: SinkContext): Promise<Sink> {
    const written = context.role === 'dlq' ? asAppending(config) : config;
    return new ElasticsearchSink(written, context, await Link.open(written, context));
  }

  async write(page: Page, { partial }: WriteOptions): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const records = page.records();
    const planned = this.#planned(records);
    // Before the first is sent: a page that fails for a record of its own leaves nothing behind.
    if (!partial) settle(records.length, planned.rejected, false);
    await this.#target.ready();
    const refused = await sendChanges(this.#bulk(), planned.changes);
    this.#isUnseen ||= planned.changes.length > 0;
    const rejected = [...planned.rejected, ...refused].sort((a, b) => a.index - b.index);
    return settle(records.length, rejected, partial);
  }

  /** What was written is safe; searches find it when the index was refreshed. */
  async flush(): Promise<void> {
    if (!this.#isUnseen) return;
    this.#isUnseen = false;
    try {
      await this.#link.ask({ method: 'POST', path: `${step(this.#target.name)}/_refresh` });
    } catch (error) {
      if (!(error instanceof ConnectorError) || error.status !== 403) throw error;
      this.#context.env.log.info('searches find the documents later: the login may not refresh', {
        index: this.#config.index,
      });
    }
  }

  async finish(reason: FinishReason): Promise<void> {
    if (this.#config.write_mode !== 'overwrite') return;
    if (reason === 'success') {
      await this.#flushStaged();
      await this.#target.swap();
    } else if (this.#target.isBegun) await this.#target.drop();
  }

  async #flushStaged(): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      await this.#target.tellTaker(error);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  #bulk(): Bulk {
    const { batch_size: most } = this.#config;
    return { link: this.#link, index: this.#target.name, context: this.#context, most };
  }

  #planned(records: readonly JsonValue[]): {
    readonly changes: readonly Change[];
    readonly rejected: readonly Rejection[];
  } {
    const changes: Change[] = [];
    const rejected: Rejection[] = [];
    const add = (change: Change): void => {
      const fault = change.id === undefined ? undefined : refusedId(change.id);
      if (fault === undefined) changes.push(change);
      else rejected.push({ index: change.index, error: fault });
    };
    if (this.#spec === undefined) {
      for (const [index, record] of records.entries())
        if (isObject(record))
          add({ index, op: 'index', id: this.#ownId(record), document: record });
        else
          rejected.push({ index, error: new RecordError('Sink', 'the record is not an object') });
      return { changes, rejected };
    }
    const plan = planKeyedPage(records, this.#spec);
    const { key } = this.#spec;
    for (const { index, record } of plan.deletes)
      add({ index, op: 'delete', id: idOf(record, key) });
    for (const { index, record } of plan.upserts)
      add({ index, op: 'index', id: idOf(record, key), document: record });
    return { changes, rejected: [...plan.rejected, ...rejected] };
  }

  #ownId(record: { readonly [name: string]: JsonValue | undefined }): string | undefined {
    const { id_field: field } = this.#config;
    if (field === undefined || !hasField(record as never, field)) return undefined;
    const value = record[field] ?? null;
    return value === null ? undefined : jsonText(value);
  }
}

/** Dead letters are added, whatever the config says of records. */
function asAppending(config: ElasticsearchSinkConfig): ElasticsearchSinkConfig {
  const { delete_marker: _unused, ...rest } = config;
  return { ...rest, write_mode: 'append', key: [] };
}
