/**
 * Compares pages with the live columns of the destination and does what the policy says about a
 * difference.
 */
import { RunError } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import type {
  ColumnType,
  DestinationColumn,
  SchemaAccess,
  SchemaChange,
  SinkCapabilities,
} from '../../kit/sink.ts';
import type { SchemaDriftConfig } from '../../blocks/schema-drift/schema.ts';
import { wrapConnectorError } from '../failure.ts';
import {
  changed,
  changeFor,
  columnsOf,
  comparePage,
  hasDrift,
  holdsAny,
  lacksAny,
  requiredColumns,
  type Drift,
} from './drift-columns.ts';
import type { PageInWork, Stage, StageContext } from './stage.ts';

export const SCHEMA_DRIFT = defineMetric({
  name: 'svc_schema_drift_total',
  type: 'counter',
  help: 'Columns of pages that differ from the destination, by policy and kind of difference.',
  labels: ['pipeline', 'row', 'connector', 'mode', 'kind'],
});

export interface DriftDestination {
  /** `undefined` when the destination has no schema to compare with. */
  readonly schema: SchemaAccess | undefined;
  /** Columns that are filled in just before the write. */
  readonly supplied: ReadonlyMap<string, ColumnType>;
}

export function createSchemaDriftStage(
  config: SchemaDriftConfig,
  context: StageContext,
  destination: DriftDestination,
): Stage {
  const { schema } = destination;
  if (schema === undefined) {
    context.env.log.info('`schema` has no effect: the destination has no columns', {
      row: context.row,
      sink: context.sinkType,
    });
    return { name: 'schema', run: () => {} };
  }
  const drift = new SchemaDrift(config, context, { schema, supplied: destination.supplied });
  return { name: 'schema', run: (page) => drift.run(page) };
}

/**
 * For a sink whose config was known only at run time; all others are judged when the document is
 * loaded.
 */
export function assertCanEvolve(
  config: SchemaDriftConfig,
  { schema }: SinkCapabilities,
  sinkType: string,
): void {
  if (config.on_drift === 'evolve' && schema !== 'evolve') throw cannotEvolve(sinkType);
}

class SchemaDrift {
  readonly #config: SchemaDriftConfig;
  readonly #context: StageContext;
  readonly #schema: SchemaAccess;
  readonly #supplied: ReadonlyMap<string, ColumnType>;
  readonly #suppliedNames: ReadonlySet<string>;
  /** Kept until it is changed. */
  #live: readonly DestinationColumn[] | undefined;
  /** What was changed in this run. */
  readonly #changes: SchemaChange[] = [];
  #isReported = false;

  constructor(
    config: SchemaDriftConfig,
    context: StageContext,
    destination: DriftDestination & { readonly schema: SchemaAccess },
  ) {
    this.#config = config;
    this.#context = context;
    this.#schema = destination.schema;
    this.#supplied = destination.supplied;
    this.#suppliedNames = new Set(destination.supplied.keys());
  }

  async run(page: PageInWork): Promise<void> {
    const given = columnsOf(page.records, page.schema);
    if (given.length === 0) return;
    const live = await this.#columns();
    if (live === undefined) return;
    const { records, drift } = comparePage(
      { records: page.records, schema: page.schema, columns: given },
      {
        destination: live,
        ignoresCase: this.#schema.ignoresCase === true,
        allowWidening: this.#config.allow_type_widening,
        supplied: this.#supplied,
        addsSupplied: this.#config.on_drift === 'evolve',
      },
    );
    if (records !== page.records) page.records = records;
    if (!hasDrift(drift)) return;
    this.#count(drift);
    await this.#settle(page, drift, live);
  }

  async #settle(page: PageInWork, drift: Drift, live: readonly DestinationColumn[]): Promise<void> {
    const { on_drift: policy } = this.#config;
    switch (policy) {
      case 'warn':
        this.#context.env.log.warn(describe(drift), { row: this.#context.row });
        return;
      case 'ignore':
        return dropUnknown(page, live);
      case 'fail':
        throw driftError(drift, this.#context.sinkType);
      case 'quarantine': {
        const onlyNull = new Set(drift.onlyNull);
        const drifted = [...drift.added, ...drift.widened]
          .map((one) => one.name)
          .concat(drift.incompatible)
          .filter((name) => !onlyNull.has(name));
        const required = requiredColumns(live, this.#suppliedNames);
        quarantine(
          page,
          (record) => holdsAny(record, drifted) || lacksAny(record, required),
          describe(drift),
        );
        return;
      }
      case 'evolve':
        return this.#evolve(page, drift, live);
      default:
        return policy satisfies never;
    }
  }

  async #evolve(page: PageInWork, drift: Drift, live: readonly DestinationColumn[]): Promise<void> {
    const { on_incompatible: residue, relax_nullability_on_missing: relaxMissing } = this.#config;
    const { incompatible } = drift;
    const onlyNull = drift.onlyNull.filter((name) => incompatible.includes(name));
    const rest: Drift = { ...NO_DRIFT, incompatible, onlyNull };
    if (incompatible.length > 0 && residue === 'fail')
      throw driftError(rest, this.#context.sinkType);
    const change = changeFor(drift, relaxMissing);
    if (change.add.length + change.widen.length + change.relaxNull.length > 0)
      await this.#change(change, page.records, live);
    if (incompatible.length === 0) return;
    const misfits = incompatible.filter((name) => !onlyNull.includes(name));
    const required = requiredColumns(
      live.filter(({ name }) => incompatible.includes(name)),
      this.#suppliedNames,
    );
    quarantine(
      page,
      (record) => holdsAny(record, misfits) || lacksAny(record, required),
      describe(rest),
    );
  }

  async #change(
    change: SchemaChange,
    records: readonly JsonValue[],
    live: readonly DestinationColumn[],
  ): Promise<void> {
    const { env, row, sinkType } = this.#context;
    try {
      if (this.#schema.evolve === undefined) throw cannotEvolve(sinkType);
      await this.#schema.evolve(change, records);
    } catch (error) {
      throw wrapConnectorError('Sink', sinkType, error);
    }
    const named = (list: SchemaChange['add']): string =>
      list.map(({ name, type }) => `${name} ${type}`).join(', ');
    const changes = {
      added: named(change.add),
      widened: named(change.widen),
      nullable: change.relaxNull.join(', '),
    };
    env.log.info('the schema of the destination was changed', { row, ...changes });
    this.#changes.push(change);
    this.#live = undefined;
    if ((await this.#columns()) === undefined) this.#live = live;
  }

  async #columns(): Promise<readonly DestinationColumn[] | undefined> {
    if (this.#live !== undefined) return this.#live;
    try {
      const read = await this.#schema.current();
      this.#live =
        read === undefined
          ? undefined
          : this.#changes.reduce<readonly DestinationColumn[]>(changed, read);
    } catch (error) {
      throw wrapConnectorError('Sink', this.#context.sinkType, error);
    }
    if (this.#live === undefined && !this.#isReported) {
      this.#isReported = true;
      this.#context.env.log.info(
        'the destination has no columns yet, so there is nothing to compare with',
        { row: this.#context.row },
      );
    }
    return this.#live;
  }

  #count({ added, widened, incompatible, missing }: Drift): void {
    const { env, pipeline, row, sinkType } = this.#context;
    const labels = { pipeline, row, connector: sinkType, mode: this.#config.on_drift };
    const kinds = {
      added: added.length,
      widened: widened.length,
      narrowed: incompatible.length,
      dropped: missing.length,
    };
    for (const [kind, count] of Object.entries(kinds))
      if (count > 0) env.metrics.inc(SCHEMA_DRIFT, { ...labels, kind }, count);
  }
}

const NO_DRIFT: Drift = { added: [], widened: [], incompatible: [], onlyNull: [], missing: [] };

function describe({ added, widened, incompatible, onlyNull, missing }: Drift): string {
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
  const wider = widened.map(({ name }) => name).filter((name) => !onlyNull.includes(name));
  const misfits = incompatible.filter((name) => !onlyNull.includes(name));
  const parts = [
    added.length === 0 ? '' : `${list(added.map((one) => one.name))} not in the destination`,
    wider.length === 0 ? '' : `${list(wider)} wider than in the destination`,
    onlyNull.length === 0 ? '' : `${list(onlyNull)} null where the destination takes none`,
    misfits.length === 0 ? '' : `${list(misfits)} of a type that does not fit`,
    missing.length === 0 ? '' : `${list(missing)} required but absent`,
  ];
  return `the schema drifted: ${parts.filter((part) => part !== '').join('; ')}`;
}

function driftError(drift: Drift, sinkType: string): RunError {
  return new RunError('SchemaDrift', 'schema_drift', `${describe(drift)} (sink \`${sinkType}\`)`, {
    hint: 'change the destination or the transforms, or choose another `schema.on_drift`',
  });
}

function cannotEvolve(sinkType: string): RunError {
  return new RunError(
    'Config',
    'evolve_unsupported',
    `the sink \`${sinkType}\` cannot change its columns, as \`on_drift: evolve\` asks`,
    {
      hint: 'use another policy',
    },
  );
}

function dropUnknown(page: PageInWork, live: readonly DestinationColumn[]): void {
  const known = new Set(live.map((column) => column.name));
  const dropped = new Map<string, number>();
  page.records = page.records.map((record) => {
    if (!isObject(record)) return record;
    const unknown = Object.keys(record).filter((name) => !known.has(name));
    if (unknown.length === 0) return record;
    // A copy keeps what the record carries besides its fields, such as the row it was read from.
    const kept = { ...record };
    for (const name of unknown) {
      delete kept[name];
      dropped.set(name, (dropped.get(name) ?? 0) + 1);
    }
    return kept;
  });
  if (dropped.size > 0) page.droppedFields = dropped;
}

function quarantine(
  page: PageInWork,
  isBad: (record: JsonValue) => boolean,
  message: string,
): void {
  const reasons = new Map<number, string>();
  for (const [position, record] of page.records.entries())
    if (isBad(record)) reasons.set(position, message);
  page.divert(reasons, { kind: 'SchemaDrift', reason: 'schema_drift' });
}
