/** Preflights over HTTP, on request or before a run. */
import type { Jobs } from '../../runs/service/jobs.ts';
import { JobOverdue } from '../../runs/service/jobs.ts';
import type { DoctorEvent, DoctorReport, ProbeReport } from '../../wire/doctor.ts';
import type { SubmittedDocument } from '../../wire/submission.ts';
import { doctorJob } from './doctor-job.ts';

export interface DoctorServices {
  readonly jobs: Jobs;
  /** Budget of the probes of one part. */
  readonly probeTimeoutMs: number;
}

/** Rejects with `ConfigError` or `RefusedError`; failed probes are a report, not an error. */
export type Preflight = (document: SubmittedDocument, signal: AbortSignal) => Promise<DoctorReport>;

/** A worker whose probe is over its budget by this much hangs in it. */
const HANGING_AFTER_MS = 2000;
/** Reading and planning a document, with what secrets managers take. */
const OPENING_MS = 45_000;

export function createPreflight({ jobs, probeTimeoutMs }: DoctorServices): Preflight {
  return async (document, signal) => {
    const seen = new PartialReport(probeTimeoutMs);
    try {
      return await jobs.run(
        doctorJob,
        { kind: 'doctor', document, probe_timeout_ms: probeTimeoutMs },
        {
          signal,
          hear: (event) => {
            if (event.kind === 'probed') seen.add(event.event);
          },
          limitMs: ({ kind }) =>
            kind === 'probed' ? probeTimeoutMs + HANGING_AFTER_MS : OPENING_MS,
        },
      );
    } catch (error) {
      if (error instanceof JobOverdue && seen.hasBegun) return seen.report();
      throw error;
    }
  };
}

type Row = DoctorReport['invocations'][number];

/** What is known of a preflight that had to be ended: parts without an answer have failed. */
class PartialReport {
  readonly #timeoutMs: number;
  /** In the order in which they were begun. */
  readonly #rows = new Map<string, Row>();

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  get hasBegun(): boolean {
    return this.#rows.size > 0;
  }

  add(event: DoctorEvent): void {
    if (event.type === 'checked') {
      this.#rows.set(event.row.id, event.row);
      return;
    }
    const { id, delivery, role, connector } = event;
    const probes = [...event.before, this.#unanswered(role, connector)];
    this.#rows.set(id, { id, ...(delivery === undefined ? {} : { delivery }), probes });
  }

  report(): DoctorReport {
    return { invocations: [...this.#rows.values()].filter(({ probes }) => probes.length > 0) };
  }

  #unanswered(role: ProbeReport['role'], connector: string): ProbeReport {
    const secs = this.#timeoutMs / 1000;
    return {
      role,
      connector,
      name: 'timeout',
      status: 'fail',
      reason: `no answer within ${secs} s; its process was ended`,
      elapsed_ms: this.#timeoutMs,
    };
  }
}
