/**
 * The preflight report. One sentence about failed probes serves `/v1/doctor`
 * and `doctor_first` alike.
 */
import { z } from 'zod';

export const probeReportSchema = z
  .object({
    role: z
      .enum(['source', 'transform', 'sink', 'state', 'sla', 'lineage'])
      .meta({ description: 'Which part of the row was probed.' }),
    connector: z.string().meta({ description: 'Kind of the part.' }),
    name: z.string().meta({
      description: 'What was probed: `read`, `connect`, `auth`, `construct`, `timeout` …',
    }),
    status: z.enum(['pass', 'fail', 'skip']).meta({ description: '`skip` is not a failure.' }),
    reason: z.string().optional().meta({ description: 'Why it failed or was skipped; redacted.' }),
    hint: z.string().optional().meta({ description: 'What to do about it.' }),
    elapsed_ms: z.number().meta({ description: 'Whole milliseconds.' }),
  })
  .meta({ description: 'One probe.' });
export type ProbeReport = Readonly<z.infer<typeof probeReportSchema>>;

export const doctorReportSchema = z
  .object({
    invocations: z.array(
      z.object({
        id: z.string().meta({ description: 'Row id.' }),
        delivery: z
          .string()
          .optional()
          .meta({ description: 'The guarantee the row really gives.' }),
        probes: z.array(probeReportSchema),
      }),
    ),
  })
  .meta({ description: 'Preflight report: the probes of every root row.' });
export interface DoctorReport {
  readonly invocations: readonly {
    readonly id: string;
    readonly delivery?: string | undefined;
    readonly probes: readonly ProbeReport[];
  }[];
}

/** How far a preflight has come: what is known of it when it has to be ended. */
export type DoctorEvent =
  | {
      readonly type: 'checking';
      readonly id: string;
      /** Of the parts of the row that have answered. */
      readonly before: readonly ProbeReport[];
      readonly delivery?: string | undefined;
      readonly role: ProbeReport['role'];
      readonly connector: string;
    }
  | { readonly type: 'checked'; readonly row: DoctorReport['invocations'][number] };

export const doctorRequestSchema = z
  .strictObject({
    config: z.string().meta({ description: 'The pipeline document, YAML or JSON text.' }),
    config_format: z
      .enum(['yaml', 'json'])
      .default('yaml')
      .meta({ description: 'Format of `config`.' }),
  })
  .meta({ description: 'A document to probe without running it.' });
export type DoctorRequest = z.infer<typeof doctorRequestSchema>;

/** What to answer when a probe failed; undefined when none did. */
export function doctorFailure(report: DoctorReport): string | undefined {
  const probes = report.invocations.flatMap((invocation) => invocation.probes);
  const failed = probes.filter((probe) => probe.status === 'fail').length;
  if (failed === 0) return undefined;
  return `${failed} of ${probes.length} preflight ${probes.length === 1 ? 'probe' : 'probes'} failed`;
}
