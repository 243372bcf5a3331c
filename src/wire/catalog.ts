/**
 * The data set catalog: what runs moved from where to where, and what it
 * looked like.
 */
import { z } from 'zod';

const id = z
  .string()
  .regex(/^[0-9a-f]{16}$/)
  .meta({ description: 'First 16 hexadecimal digits of the SHA-256 of the address.' });
const time = (description: string) => z.string().meta({ description, format: 'date-time' });
const jsonSchema = z.record(z.string(), z.unknown()).meta({
  description:
    'JSON Schema of sampled records: `type: object` and the properties with their types.',
});
const hash = z
  .string()
  .meta({ description: '16 hexadecimal digits; equal schemas have equal ones.' });

export const datasetSchema = z
  .object({
    id,
    uri: z.string().meta({
      description:
        'Canonical address: without credentials, and with `${now.*}` where a run put a date.',
    }),
    kind: z.string().meta({ description: 'Kind of the connector.' }),
    roles: z.array(z.enum(['source', 'sink'])).meta({ description: 'How runs use it.' }),
    pipeline: z.string().meta({ description: 'The pipeline that used it last.' }),
    first_seen: time('End of the first successful run that used it.'),
    last_seen: time('End of the last successful run that used it.'),
    last_success: time('The same: only successful runs are recorded.'),
    last_run_id: z.string().meta({ description: 'The run that used it last.' }),
    last_records: z.int().meta({ description: 'Records that the last run moved.' }),
    total_records: z.int().meta({ description: 'Records that all runs moved.' }),
    runs: z.int().meta({ description: 'Successful runs that used it.' }),
    schema_versions: z.int().meta({
      description: 'How often its schema was found to be another one, the first included.',
    }),
    current_schema: jsonSchema.optional(),
    current_schema_hash: hash.optional(),
  })
  .meta({ description: 'A data set that runs read or wrote.' });
export type Dataset = z.infer<typeof datasetSchema>;

const columnChange = z.object({
  column: z.string(),
  from: z
    .string()
    .nullable()
    .meta({ description: 'Types before, joined by `|`; null where the column is new.' }),
  to: z.string().meta({ description: 'Types after.' }),
});

export const schemaDiffSchema = z
  .object({
    added: z.array(columnChange).meta({ description: 'Columns that are new.' }),
    widened: z
      .array(columnChange)
      .meta({ description: 'Columns that hold everything they held before, and more.' }),
    changed: z
      .array(columnChange)
      .meta({ description: 'Columns that do not hold what they held before.' }),
    removed: z.array(z.string()).meta({ description: 'Columns that are gone.' }),
  })
  .meta({ description: 'How a schema differs from the one before.' });
export type SchemaDiff = z.infer<typeof schemaDiffSchema>;

export const schemaVersionSchema = z
  .object({
    dataset_id: id,
    version: z.int().meta({ description: 'Counts from 1.' }),
    recorded_at: time('End of the run that brought it.'),
    run_id: z.string().meta({ description: 'The run that brought it.' }),
    schema: jsonSchema,
    schema_hash: hash,
    diff: schemaDiffSchema.optional(),
  })
  .meta({ description: 'One version of the schema of a data set.' });
export type SchemaVersion = z.infer<typeof schemaVersionSchema>;

export const volumePointSchema = z
  .object({ recorded_at: time('End of the run.'), run_id: z.string(), records: z.int() })
  .meta({ description: 'How many records a run moved.' });
export type VolumePoint = z.infer<typeof volumePointSchema>;

export const lineageEdgeSchema = z
  .object({
    src_id: id,
    dst_id: id,
    src_uri: z.string(),
    dst_uri: z.string(),
    pipeline: z.string(),
    row: z.string().meta({ description: 'Row of the matrix, or sink node of a graph.' }),
    first_seen: time('End of the first successful run.'),
    last_seen: time('End of the last successful run.'),
    last_run_id: z.string(),
    runs: z.int(),
    last_records: z.int().meta({ description: 'Records that the last run moved.' }),
    column_lineage: z
      .object({ fields: z.record(z.string(), z.array(z.string())) })
      .optional()
      .meta({
        description:
          'Output columns and the input columns they come from; absent where it cannot be told.',
      }),
  })
  .meta({ description: 'Records went from one data set to another.' });
export type LineageEdge = z.infer<typeof lineageEdgeSchema>;

export const datasetDetailSchema = datasetSchema
  .extend({
    schema_timeline: z
      .array(schemaVersionSchema)
      .meta({ description: 'Oldest first; of very many the newest 200.' }),
    stats: z.array(volumePointSchema).meta({ description: 'Newest first, at most 50.' }),
    upstream: z.array(lineageEdgeSchema).meta({ description: 'Where its records come from.' }),
    downstream: z.array(lineageEdgeSchema).meta({ description: 'Where its records go.' }),
  })
  .meta({ description: 'All that is known of a data set.' });
export type DatasetDetail = z.infer<typeof datasetDetailSchema>;

export const datasetPageSchema = z
  .object({
    datasets: z.array(datasetSchema),
    next_cursor: z.string().nullable().meta({ description: 'Continue here; null at the end.' }),
  })
  .meta({ description: 'One page of data sets.' });

export const lineageSchema = z
  .object({ edges: z.array(lineageEdgeSchema) })
  .meta({ description: 'Edges of the lineage graph, latest movement first.' });

/** What one movement of records tells of a data set. */
export interface MovedDataset {
  /** Canonical. */
  readonly uri: string;
  readonly kind: string;
  readonly role: 'source' | 'sink';
  readonly records: number;
  /** As inferred from sampled records; absent when there was none to look at. */
  readonly schema?: InferredSchema;
}

export interface InferredSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, { readonly type: string | readonly string[] }>>;
}

/** What a row moved in a successful run; crosses from the worker process to the server. */
export interface Movement {
  readonly pipeline: string;
  readonly row: string;
  readonly run_id: string;
  /** RFC 3339, UTC. */
  readonly recorded_at: string;
  readonly datasets: readonly MovedDataset[];
  readonly edges: readonly {
    /** Addresses of two of the data sets. */
    readonly from: string;
    readonly to: string;
    readonly records: number;
    readonly columns?: Readonly<Record<string, readonly string[]>>;
  }[];
}
