import type { SinkContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import {
  requireOpen,
  type FinishReason,
  type Sink,
  type Sweep,
  type TokenWriter,
  type WriteOptions,
  type WriteResult,
} from '../../../kit/sink.ts';
import { keyedSpec, settle, type KeyedSpec } from '../../../kit/write-spec.ts';
import { MongoLink } from '../../../lib/mongodb/client.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import type { CommitToken } from '../../_sql/driver.ts';
import type { Execution, HeldScope } from '../../../kit/execution.ts';
import type { MongodbSinkConfig } from '../config.ts';
import { changesOf, sendChanges, type PageChanges } from './changes.ts';
import { sweepCollection } from './sweep.ts';
import { Target } from './target.ts';
import { forgetToken, lastToken, storeToken, takeWhole } from './tokens.ts';

export class MongodbSink implements Sink {
  readonly tokens?: TokenWriter;
  readonly takeScope?: (scope: string) => Promise<void>;
  readonly sweep?: (sweep: Sweep) => Promise<number>;
  readonly #config: MongodbSinkConfig;
  readonly #link: MongoLink;
  readonly #target: Target;
  readonly #spec: KeyedSpec | undefined;
  readonly #execution: Execution | undefined;
  readonly #doing: string;
  #heldScope: HeldScope | undefined;
  #schema: RecordSchema | undefined;
  #held: JsonValue[] = [];
  #isClosed = false;

  constructor(written: MongodbSinkConfig, { signal, env, role, runId, claim }: SinkContext) {
    const config = role === 'dlq' ? asAppending(written) : written;
    const { connection_uri: uri, database, collection, write_mode: mode } = config;
    const spec = keyedSpec(config, 'value');
    this.#config = config;
    this.#link = new MongoLink({ uri, database, signal, redactor: env.redactor });
    this.#target = new Target(config, env.log.at('headgate::sink::mongodb'));
    this.#spec = spec === undefined ? undefined : { ...spec, replaces: true };
    this.#execution = claim === undefined ? undefined : { runId, claim };
    this.#doing = `records cannot be written to \`${database}.${collection}\``;
    if (mode !== 'overwrite') this.tokens = this.#tokenWriter();
    else this.takeScope = (scope) => this.#takeScope(scope);
    if (mode === 'upsert')
      this.sweep = (sweep) => {
        const of = { collection, key: config.key, schema: this.#schema };
        return sweepCollection(this.#link, of, sweep);
      };
  }

  async write(page: Page, { partial }: WriteOptions): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const records = page.records();
    const planned = this.#changesOf(records, page.schema);
    // Before the first is sent: a page that fails for a record of its own leaves nothing behind.
    if (!partial) settle(records.length, planned.rejected, false);
    const { ordered, batch_size: most } = this.#config;
    const refused = await this.#link.run(this.#doing, async (db) => {
      await this.#target.ready(db);
      const collection = db.collection(this.#target.name);
      return sendChanges(collection, planned.changes, { ordered, most, partial });
    });
    const rejected = [...planned.rejected, ...refused].sort((a, b) => a.index - b.index);
    return withRounded(settle(records.length, rejected, partial), planned);
  }

  /** Each page is stored when the server has taken it. */
  async flush(): Promise<void> {}

  async finish(reason: FinishReason): Promise<void> {
    this.#held = [];
    const { collection, write_mode: mode } = this.#config;
    if (mode !== 'overwrite') return;
    if (reason === 'success')
      return this.#link.run(`the documents of \`${collection}\` cannot be replaced`, (db) =>
        this.#target.swap(db, this.#heldScope),
      );
    if (!this.#target.isBegun) return;
    await this.#link.run(
      `the collection \`${this.#target.name}\` of this run cannot be dropped`,
      (db) => this.#target.drop(db),
      { always: true },
    );
  }

  async #takeScope(scope: string): Promise<void> {
    if (this.#execution === undefined) return;
    const held = { scope, execution: this.#execution };
    await takeWhole(this.#link, held);
    this.#heldScope = held;
    await this.#link.run('what others have collected cannot be dropped', (db) =>
      this.#target.dropOthers(db, held),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#held = [];
    await this.#link.close();
  }

  #changesOf(records: readonly JsonValue[], schema: RecordSchema | undefined): PageChanges {
    this.#schema ??= schema;
    return changesOf(records, schema, this.#spec);
  }

  #tokenWriter(): TokenWriter {
    return {
      last: (scope) => lastToken(this.#link, scope, this.#execution),
      hold: (page) => {
        requireOpen(this.#isClosed);
        this.#schema ??= page.schema;
        this.#held = this.#held.concat(page.records());
        return Promise.resolve();
      },
      forget: (scope) => forgetToken(this.#link, scope),
      write: async (page, scope, token) => {
        requireOpen(this.#isClosed);
        const records = this.#held.concat(page.records());
        const planned = this.#changesOf(records, page.schema ?? this.#schema);
        settle(records.length, planned.rejected, false);
        await this.#commit(planned, { scope, token, execution: this.#execution });
        this.#held = [];
        return withRounded({ written: records.length, rejected: [] }, planned);
      },
    };
  }

  async #commit({ changes }: PageChanges, token: CommitToken): Promise<void> {
    await this.#link.run(this.#doing, (db) => this.#target.ready(db));
    await this.#link.transaction(this.#doing, async (db, session) => {
      await storeToken(db, session, token);
      const collection = db.collection(this.#target.name);
      const sending = { ordered: true, most: 0, partial: false, session };
      const refused = await sendChanges(collection, changes, sending);
      settle(changes.length, refused, false);
    });
  }
}

function withRounded(result: WriteResult, { rounded }: PageChanges): WriteResult {
  return rounded.size === 0 ? result : { ...result, roundedFields: rounded };
}

/** Dead letters are added, whatever the config says of records. */
function asAppending(config: MongodbSinkConfig): MongodbSinkConfig {
  const { delete_marker: _unused, ...rest } = config;
  return { ...rest, write_mode: 'append', key: [] };
}
