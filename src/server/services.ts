/** What routes work with. A route declares the services it uses (`uses`) and sees no others. */
import type { SubmitBackfill } from '../features/backfill/submit-units.ts';
import type { Catalog } from '../features/catalog/catalog.ts';
import type { DeadLetterFiles } from '../features/dlq/dead-letter-files.ts';
import type { Replay } from '../features/dlq/replay-service.ts';
import type { LocalOutputs } from '../features/local-outputs/local-outputs.ts';
import type { Reload } from '../features/reload/reload.ts';
import type { ShowDocumentPlan, ShowRunPlan } from '../features/plan-view/run-plan.ts';
import type { McpEndpoint } from '../mcp/mcp-endpoint.ts';
import type { BlockListing } from '../features/part-schemas.ts';
import type { ShowReceipt } from '../features/receipt/run-receipt.ts';
import type { Rerun } from '../features/rerun/rerun.ts';
import type { ListDataSets } from '../features/discovery/discovery-service.ts';
import type { ShowStages } from '../features/stage-preview/stage-preview.ts';
import type { Rollback } from '../features/rollback/rollback-run.ts';
import type { Schedules } from '../features/schedule/server/schedules.ts';
import type { TemplateSync } from '../features/templates/sync/sync.ts';
import type { Templates } from '../features/templates/templates.ts';
import type { Triggers } from '../features/triggers/triggers.ts';
import type { Verify } from '../features/verify/verify-service.ts';
import type { Parts } from '../kit/parts.ts';
import type { Env } from '../lib/env.ts';
import type { Audit } from '../runs/service/audit.ts';
import type { Runs } from '../runs/service/runs.ts';
import type { DoctorReport, DoctorRequest } from '../wire/doctor.ts';
import type { Assets } from './http/assets.ts';

/**
 * Probes a document; throws `ConfigError` when it cannot be read or planned. Failed probes are a
 * report, not an error.
 */
export type Doctor = (request: DoctorRequest, signal: AbortSignal) => Promise<DoctorReport>;

export interface Services {
  readonly version: string;
  readonly clock: Env['clock'];
  /** Relative paths in requests are relative to this folder. */
  readonly cwd: string;
  readonly redactor: Env['redactor'];
  readonly runs: Runs;
  readonly parts: Parts;
  readonly blocks: readonly BlockListing[];
  readonly doctor: Doctor;
  readonly rerun: Rerun;
  /** Shows the plan of a run. */
  readonly runPlan: ShowRunPlan;
  /** A page to attach to a ticket. */
  readonly receipt: ShowReceipt;
  /** Plans a document that is not submitted. */
  readonly documentPlan: ShowDocumentPlan;
  /** Tries the stages of a document that is not submitted. */
  readonly stagePreview: ShowStages;
  /** Asks the source of a document for its data sets. */
  readonly discovery: ListDataSets;
  readonly rollback: Rollback;
  readonly reload: Reload;
  readonly catalog: Pick<Catalog, 'list' | 'get' | 'lineage'>;
  readonly verify: Verify;
  readonly replay: Replay;
  /** Reads and rewrites queues of dead letters. */
  readonly deadLetters: DeadLetterFiles;
  readonly localOutputs: LocalOutputs;
  /** Submits the runs of a backfill. */
  readonly backfill: SubmitBackfill;
  /**
   * Takes denied attempts (what succeeds is recorded by whoever does it), and is read by
   * `/v1/audit`.
   */
  readonly audit: Pick<Audit, 'record' | 'list'>;
  readonly templates: Templates;
  /** Where templates come from, outside of the server. */
  readonly templateSync: Pick<TemplateSync, 'origins' | 'sync' | 'publish'>;
  readonly schedules: Schedules;
  readonly triggers: Pick<Triggers, 'fire' | 'needsNoToken' | 'health' | 'list'>;
  /** For agents; undefined: the server was started without it. */
  readonly mcp: McpEndpoint | undefined;
  /** The Prometheus text of everything measured. */
  readonly metricsText: () => Promise<string>;
  /** The static files of the server. */
  readonly assets: Assets;
  /** Whether several instances share the history. */
  readonly clustered: boolean;
}

export type ServiceName = keyof Services;

/** The services a route declared; the others are not in the object at all. */
export function pickServices(services: Services, names: readonly ServiceName[]): Partial<Services> {
  return Object.freeze(Object.fromEntries(names.map((name) => [name, services[name]])));
}
