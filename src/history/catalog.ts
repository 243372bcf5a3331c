/**
 * The catalog part of a history, as plain data: every change adds to what is there, so that several
 * instances may share a store.
 */
import type {
  Dataset,
  DatasetDetail,
  LineageEdge,
  SchemaVersion,
  VolumePoint,
} from '../wire/catalog.ts';

/**
 * Schema versions stored for a data set: samples may differ in every run.
 */
export const KEPT_VERSIONS = 200;
/** Volume points stored for a data set, and those shown in its details. */
export const KEPT_POINTS = 500;
export const TOLD_POINTS = 50;

/** What some runs add to a data set. */
export interface DatasetGain extends Pick<
  Dataset,
  | 'id'
  | 'uri'
  | 'kind'
  | 'roles'
  | 'pipeline'
  | 'first_seen'
  | 'last_seen'
  | 'last_run_id'
  | 'last_records'
> {
  readonly records: number;
  readonly runs: number;
}

/** What some runs add to an edge. */
export type EdgeGain = LineageEdge;

export interface PointGain extends VolumePoint {
  readonly dataset_id: string;
  readonly role: 'source' | 'sink';
  readonly pipeline: string;
  readonly row: string;
}

export interface CatalogGain {
  readonly datasets: readonly DatasetGain[];
  readonly edges: readonly EdgeGain[];
  readonly points: readonly PointGain[];
}

/** How far the timeline of the schema of a data set reaches. */
export interface CurrentSchema {
  /** 0: there is none yet. */
  readonly version: number;
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  readonly hash: string | undefined;
}

export interface DatasetQuery {
  readonly kind?: string;
  /** Part of the address, in any case. */
  readonly q?: string;
  readonly limit: number;
  /** Continue after this data set; unknown means from the start. */
  readonly cursor?: string;
}

export interface DatasetPage {
  readonly datasets: readonly Dataset[];
  readonly more: boolean;
}

/** A movement into a data set, as the command line lists them. */
export interface PastMovement extends VolumePoint {
  readonly dataset_id: string;
  readonly uri: string;
  readonly pipeline: string;
  readonly row: string;
}

export interface CatalogStore {
  /** Adds up numbers, moves `last_*` on, keeps the newest points: all or nothing. */
  addMovements(gain: CatalogGain): Promise<void>;
  /** Of the data sets that are known. */
  currentSchemas(ids: readonly string[]): Promise<ReadonlyMap<string, CurrentSchema>>;
  /**
   * Adds versions one after the other, each behind the newest of its data set, in one change, and
   * keeps the newest. False for one whose data set is not known or has another newest one by then:
   * it was left out.
   */
  addSchemas(versions: readonly SchemaVersion[]): Promise<readonly boolean[]>;
  /** Last seen first, then by id descending. */
  listDatasets(query: DatasetQuery): Promise<DatasetPage>;
  getDataset(id: string): Promise<DatasetDetail | undefined>;
  /** Edges that begin or end at one of these data sets, or all; last seen first. */
  listEdges(datasets?: readonly string[]): Promise<readonly LineageEdge[]>;
  /** Newest first; of one row, when it is named. */
  listMovements(query: {
    readonly row?: string;
    readonly limit: number;
  }): Promise<readonly PastMovement[]>;
}
