/** Runs the transforms and governance stages of a row on a page. */
import type { Page } from '../../kit/page.ts';
import type { Env } from '../../lib/env.ts';
import type { Labels } from '../../lib/metrics/metrics.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import * as metrics from '../metrics.ts';
import { recordsAsRead, type PageOrigins } from './origins.ts';
import { pageSchemaChange, type PageSchemaChange } from './page-schema.ts';
import { PageInWork, type DeadRecord, type Stage } from './stage.ts';
import type { DivertedRecord, TransformChain } from './transform-chain.ts';

/** A page as the sink gets it, and the counts of records that are no longer in it. */
export interface WorkedPage {
  readonly page: Page;
  readonly filtered: number;
  readonly expanded: number;
  /** Records that left the transforms. */
  readonly transformed: number;
  /** Records in the page that break a contract which only warns. */
  readonly breaches?: number;
  /** Fields that the destination has no column for, with the number of records that had them. */
  readonly droppedFields?: ReadonlyMap<string, number>;
  /** What is known of where its records come from, and the records as they were read. */
  readonly origins?: PageOrigins;
  /** By its place in the page as it was read; present where transforms may have changed it. */
  recordAsRead?(this: void, place: number): JsonValue | undefined;
  /** Put aside by the stages. */
  readonly dead: readonly DeadRecord[];
  /** What ended the work; the numbers and the dead records are those up to then. */
  readonly failure?: unknown;
  /**
   * Applies measurements of another thread. Called when the page is moved, because pages that are
   * never moved must not count.
   */
  measure?(this: void): void;
}

/** Never rejects. A page keeps its form when nothing looks at it. */
export type PageWork = (page: Page) => Promise<WorkedPage>;

export interface PageWorkOptions {
  readonly env: Pick<Env, 'clock' | 'metrics'>;
  readonly labels: Labels;
  readonly transforms: TransformChain;
  readonly stages: readonly Stage[];
  /** Everything ends now. */
  readonly kill: AbortSignal;
  /** Whether records may become dead letters, which tell what they were made of. */
  readonly tracks?: boolean;
}

export function pageWork(options: PageWorkOptions): PageWork {
  const schemas: SchemaChanges = {
    stages: options.stages.map(({ schemaAfter }) =>
      pageSchemaChange(schemaAfter === undefined ? [] : [schemaAfter]),
    ),
  };
  return async (page) => {
    const work = new Work({ ...options, schemas }, page);
    try {
      await work.transform();
      await work.govern();
      return work.result();
    } catch (failure) {
      return { ...work.result(), failure };
    }
  };
}

/** What the stages make of the schema of a page. */
export function schemaAfterStages({
  transforms,
  stages,
}: Pick<PageWorkOptions, 'transforms' | 'stages'>): PageSchemaChange {
  const governed = stages.flatMap(({ schemaAfter }) => schemaAfter ?? []);
  return pageSchemaChange([...transforms.schemaChanges, ...governed]);
}

interface SchemaChanges {
  /** One for each stage. */
  readonly stages: readonly PageSchemaChange[];
}

interface WorkOptions extends PageWorkOptions {
  readonly schemas: SchemaChanges;
}

class Work {
  readonly #options: WorkOptions;
  readonly #dead: DeadRecord[] = [];
  #page: Page;
  #filtered = 0;
  #expanded = 0;
  #transformed = 0;
  #breaches = 0;
  #droppedFields: ReadonlyMap<string, number> | undefined;
  #origins: PageOrigins | undefined;
  readonly #recordAsRead: WorkedPage['recordAsRead'];

  constructor(options: WorkOptions, page: Page) {
    this.#options = options;
    this.#page = page;
    const { tracks, transforms } = options;
    if (tracks !== true) return;
    this.#origins = { transforms: undefined, stages: undefined };
    if (!transforms.empty) this.#recordAsRead = recordsAsRead(page);
  }

  async transform(): Promise<void> {
    const { transforms } = this.#options;
    if (!transforms.empty) await this.#runChain(transforms);
    this.#transformed = this.#page.count + this.#dead.length;
  }

  async govern(): Promise<void> {
    const { stages, schemas } = this.#options;
    if (stages.length === 0) return;
    const work = new PageInWork(this.#page, this.#dead);
    for (const [index, stage] of stages.entries()) {
      await stage.run(work);
      work.schema = schemas.stages[index]?.(work.schema);
    }
    this.#page = work.page;
    if (this.#origins !== undefined) this.#origins = { ...this.#origins, stages: work.origins };
    this.#breaches = work.breaches;
    this.#droppedFields = work.droppedFields;
  }

  result(): WorkedPage {
    return {
      page: this.#page,
      filtered: this.#filtered,
      expanded: this.#expanded,
      transformed: this.#transformed,
      dead: this.#dead,
      ...(this.#breaches > 0 ? { breaches: this.#breaches } : {}),
      ...(this.#droppedFields === undefined ? {} : { droppedFields: this.#droppedFields }),
      ...(this.#origins === undefined ? {} : { origins: this.#origins }),
      ...(this.#recordAsRead === undefined ? {} : { recordAsRead: this.#recordAsRead }),
    };
  }

  async #runChain(transforms: TransformChain): Promise<void> {
    const { env, labels, kill, tracks } = this.#options;
    const from = env.clock.elapsedMs();
    try {
      const result = await transforms.run(this.#page, kill, tracks);
      env.metrics.inc(metrics.transformIn, labels, this.#page.count);
      env.metrics.inc(metrics.transformOut, labels, result.page.count);
      this.#page = result.page;
      this.#filtered = result.filtered;
      this.#expanded = result.expanded;
      if (this.#origins !== undefined)
        this.#origins = { ...this.#origins, transforms: result.origins };
      for (const one of result.diverted) this.#dead.push(deadRecordOf(one));
    } catch (error) {
      env.metrics.inc(metrics.transformErrors, labels);
      throw error;
    } finally {
      env.metrics.observe(metrics.transformDuration, labels, (env.clock.elapsedMs() - from) / 1000);
    }
  }
}

/** A record that a transform puts aside, as it was given it. */
export function deadRecordOf({ error, record, index, isBehindPages }: DivertedRecord): DeadRecord {
  const { kind, message } = error;
  const dead: DeadRecord = { kind, reason: 'transform', message, payload: record, index };
  return isBehindPages === true ? { ...dead, isBehindPages } : dead;
}
