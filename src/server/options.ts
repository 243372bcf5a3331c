/** Everything the server is given. It makes nothing itself: `serve` composes. */
import type { ZodType } from 'zod';
import type { Catalog } from '../features/catalog/catalog.ts';
import type { LocalOutputs } from '../features/local-outputs/local-outputs.ts';
import type { SubmitBackfill } from '../features/backfill/submit-units.ts';
import type { Parts } from '../kit/parts.ts';
import type { Env } from '../lib/env.ts';
import type { Audit } from '../runs/service/audit.ts';
import type { Rollback } from '../features/rollback/rollback-run.ts';
import type { Runs } from '../runs/service/runs.ts';
import type { Replay } from '../features/dlq/replay-service.ts';
import type { Verify } from '../features/verify/verify-service.ts';
import type { DoctorReport, DoctorRequest } from '../wire/doctor.ts';
import type { Authenticator } from './auth/auth.ts';

/** A document block as the schema catalogue shows it. */
export interface BlockListing {
  readonly name: string;
  readonly placement: 'pipeline' | 'top';
  readonly description: string;
  readonly schema: ZodType;
}

/**
 * Probes a document; throws `ConfigError` when it cannot be read or planned. Failed probes are a
 * report, not an error.
 */
export type Doctor = (request: DoctorRequest, signal: AbortSignal) => Promise<DoctorReport>;

export interface ServerOptions {
  readonly version: string;
  readonly env: Pick<Env, 'clock' | 'cwd' | 'log' | 'metrics' | 'redactor'>;
  readonly runs: Runs;
  readonly parts: Parts;
  readonly blocks: readonly BlockListing[];
  readonly doctor: Doctor;
  readonly rollback: Rollback;
  readonly catalog: Pick<Catalog, 'list' | 'get' | 'lineage'>;
  readonly verify: Verify;
  readonly replay: Replay;
  readonly localOutputs: LocalOutputs;
  /** Submits the runs of a backfill. */
  readonly backfill: SubmitBackfill;
  /**
   * Takes denied attempts (what succeeds is recorded by whoever does it), and is read by
   * `/v1/audit`.
   */
  readonly audit: Pick<Audit, 'record' | 'list'>;
  readonly authenticate: Authenticator;
  /** The Prometheus text of everything measured. */
  readonly metricsText: () => Promise<string>;
  /** Largest request body; one of exactly this size passes. Default 1 MiB. */
  readonly bodyLimitBytes?: number;
  /** Origins whose browsers may call; none turns cross-origin answers off. */
  readonly corsOrigins?: readonly string[];
  /** Whether several instances share the history. */
  readonly clustered?: boolean;
}

export const DEFAULT_BODY_LIMIT_BYTES = 1_048_576;
