/** A plan as the JSON that `validate`, `plan` and `explain` print. */
import type { SinkCapabilities } from '../kit/sink.ts';
import type { Plan, RowPlan } from './plan.ts';

export interface ValidateReport {
  readonly valid: true;
  readonly mode: 'matrix';
  readonly name: string;
  readonly row_count: number;
  readonly roots: number;
  readonly children: number;
  readonly selection_active: boolean;
  readonly rows: readonly ValidatedRow[];
}

export interface ValidatedRow {
  readonly id: string;
  readonly source: string;
  readonly sink: string;
  readonly role: RowPlan['role'];
  readonly parent_id: string | null;
  readonly parent_key: string | null;
  readonly depends_on: readonly string[];
  /** The guarantee the row really gives. */
  readonly delivery: string;
  readonly status: string;
  readonly tags: readonly string[];
  /** `null` where nothing was selected: every row runs. */
  readonly decision: 'run' | 'skip' | null;
}

export function validateReport(plan: Plan): ValidateReport {
  const running = new Set(plan.rows.map((row) => row.id));
  const rows = [...plan.rows, ...plan.unselected].sort((a, b) => a.index - b.index);
  return {
    valid: true,
    mode: 'matrix',
    name: plan.name,
    row_count: rows.length,
    ...roles(rows),
    selection_active: plan.selectionActive,
    rows: rows.map((row) => ({
      id: row.id,
      source: row.source.type,
      sink: row.sink.type,
      role: row.role,
      parent_id: row.parent?.row ?? null,
      parent_key: row.parent?.key ?? null,
      depends_on: row.dependsOn,
      delivery: row.guarantee,
      status: row.status,
      tags: row.tags,
      decision: plan.selectionActive ? (running.has(row.id) ? 'run' : 'skip') : null,
    })),
  };
}

export interface PlanReport {
  readonly row: string;
  readonly source: string;
  readonly sink: string;
  readonly write_mode: string | null;
  readonly transforms: readonly string[];
  readonly delivery_guarantee: string;
  readonly lane: string;
  readonly quality: { readonly record_checks: number; readonly batch_checks: number } | null;
  readonly contract: { readonly version: string; readonly on_breach: string; readonly fields: number } | null;
  readonly masking: { readonly rules: number } | null;
  readonly schema_drift: { readonly on_drift: string } | null;
  readonly lineage: null;
}

/** What one row does, as far as it is known without reading a record. */
export function planReport(row: RowPlan): PlanReport {
  const { quality, contract, masking, schema } = row.governance;
  return {
    row: row.id,
    source: row.source.type,
    sink: row.sink.type,
    write_mode: writesOf(row)?.writeMode ?? null,
    transforms: row.transforms.map((transform) => transform.type),
    delivery_guarantee: row.guarantee,
    lane: row.lane.reason,
    quality: quality === undefined ? null : { record_checks: quality.record.length, batch_checks: quality.batch.length },
    contract: contract === undefined ? null : { version: contract.version, on_breach: contract.on_breach, fields: contract.fields.length },
    masking: masking === undefined ? null : { rules: masking.rules.length },
    schema_drift: schema === undefined ? null : { on_drift: schema.on_drift },
    lineage: null,
  };
}

export interface ExplainReport {
  readonly pipeline: string;
  readonly rows_total: number;
  readonly roots: number;
  readonly children: number;
  readonly incremental_rows: number;
  readonly rows: readonly ExplainedRow[];
}

export interface ExplainedRow {
  readonly id: string;
  readonly role: RowPlan['role'];
  readonly parent?: string;
  readonly source: string;
  readonly transforms: readonly string[];
  readonly sink: string;
  readonly write_mode?: string;
  readonly key?: readonly string[];
  readonly delivery_guarantee: string;
  readonly state?: string;
  /** Whether the next run goes on where this one stood. */
  readonly incremental: boolean;
}

export function explainReport(plan: Plan): ExplainReport {
  const rows = plan.rows.map(explainRow);
  const incremental = rows.filter((row) => row.incremental).length;
  return { pipeline: plan.name, rows_total: rows.length, ...roles(plan.rows), incremental_rows: incremental, rows };
}

function explainRow(row: RowPlan): ExplainedRow {
  const writes = writesOf(row);
  return {
    id: row.id,
    role: row.role,
    ...(row.parent === undefined ? {} : { parent: row.parent.row }),
    source: row.source.type,
    transforms: row.transforms.map((transform) => transform.type),
    sink: row.sink.type,
    ...(writes === undefined ? {} : { write_mode: writes.writeMode }),
    ...(writes === undefined || writes.key.length === 0 ? {} : { key: writes.key }),
    delivery_guarantee: row.guarantee,
    ...(row.state === undefined ? {} : { state: row.state.type }),
    incremental: row.state !== undefined && keepsBookmarks(row),
  };
}

function roles(rows: readonly RowPlan[]): { roots: number; children: number } {
  const children = rows.filter((row) => row.role === 'child').length;
  return { roots: rows.length - children, children };
}

/** What the sink can do, judged on placeholders where tokens stand; `undefined` when that is impossible. */
function writesOf({ sink }: RowPlan): SinkCapabilities | undefined {
  const config = sink.parsed ?? sink.judged;
  return config === undefined ? undefined : sink.definition.capabilities(config);
}

function keepsBookmarks({ source }: RowPlan): boolean {
  const config = source.parsed ?? source.judged;
  return config !== undefined && source.definition.capabilities(config).bookmarks;
}
