/** Templates as the HTTP API shows them. */
import { z } from 'zod';
import { TEMPLATE_KINDS, WRITE_MODES } from './template-kinds.ts';
import { submissionReceiptSchema, submissionSchema } from './run.ts';

const time = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' });

/** A number, the same as text, or a channel; which of them is valid the registry says. */
const selector = (description: string) =>
  z
    .union([z.string().min(1), z.number()])
    .nullish()
    .meta({ description });

const paramListing = z
  .object({
    type: z.enum(['string', 'int', 'float', 'bool']),
    required: z.boolean(),
    secret: z.boolean(),
    default: z.unknown().optional().meta({ description: 'Absent for secret parameters.' }),
    description: z.string().optional(),
    computed: z.string().optional(),
    values: z.array(z.unknown()).optional(),
  })
  .meta({ description: 'A parameter that the caller supplies.' });

const deprecation = z.object({
  deprecated_at: time,
  deprecated_by: z.string().optional(),
  reason: z.string().optional(),
});

const stateFields = {
  status: z.enum(['draft', 'launched', 'deprecated']),
  versions: z.array(z.int()).meta({ description: 'Newest first.' }),
  stable: z.int().nullable().meta({ description: 'The launched version.' }),
  previous: z.int().nullable().meta({ description: 'What a rollback launches again.' }),
  newest: z
    .int()
    .nullable()
    .meta({ description: 'The last registered version that is not deprecated.' }),
  tags: z.record(z.string(), z.int()).meta({ description: 'Version by assignable channel.' }),
  deprecation: deprecation.optional(),
  deprecated_versions: z.array(deprecation.extend({ version: z.int() })).optional(),
};

const listingFields = {
  id: z.string(),
  version: z.int(),
  kind: z.enum(TEMPLATE_KINDS),
  name: z.string().optional(),
  description: z.string().optional(),
  params: z.record(z.string(), paramListing),
  created_at: time,
  created_by: z.string().optional(),
};

export const templateSummarySchema = z
  .object({
    ...listingFields,
    ...stateFields,
    state: z.object(stateFields).meta({ description: 'The same release state once more.' }),
  })
  .meta({ description: 'One version of a template without its document, and its release state.' });
export type TemplateSummary = Readonly<z.infer<typeof templateSummarySchema>>;

export const templateListSchema = z.object({
  templates: z
    .array(templateSummarySchema)
    .meta({ description: 'The newest version of each; the newest registration first.' }),
  next_cursor: z.string().nullable().optional().meta({
    description: 'With `limit`: the last id of this page; null when there is no further page.',
  }),
  sync: z
    .object({ origins: z.array(z.lazy(() => syncOriginSchema)) })
    .optional()
    .meta({ description: 'Present where the server has origins of templates.' }),
});

export const templateDetailSchema = z
  .object({
    ...listingFields,
    ...stateFields,
    body: z.string().meta({ description: 'The document as it was registered.' }),
    format: z.enum(['yaml', 'json']),
    is_stable: z.boolean(),
    launches: z
      .array(
        z.object({
          seq: z.int(),
          version: z.int(),
          launched_at: time,
          launched_by: z.string().optional(),
        }),
      )
      .meta({ description: 'Newest first.' }),
  })
  .meta({ description: 'One version of a template, and its release state.' });
export type TemplateDetail = Readonly<z.infer<typeof templateDetailSchema>>;

export const registerTemplateSchema = z
  .strictObject({
    id: z.string().nullish().meta({ description: 'By default made of the name in the document.' }),
    config: z.string().meta({ description: 'The document, YAML or JSON text; stored as it is.' }),
    config_format: z
      .enum(['yaml', 'json'])
      .default('yaml')
      .meta({ description: 'Format of `config`.' }),
    launch: z.boolean().nullish().meta({ description: 'Make the new version the stable one.' }),
    description: z
      .string()
      .nullish()
      .meta({ description: 'What it is for; by default that of the version before.' }),
    tags: z
      .array(z.string())
      .nullish()
      .meta({ description: 'Assignable channels to point at the new version.' }),
  })
  .meta({ description: 'A document to register.' });
export type RegisterTemplate = Readonly<z.infer<typeof registerTemplateSchema>>;

export const launchTemplateSchema = z
  .strictObject({ version: selector('Number or channel; `newest` when absent.') })
  .meta({ description: 'Which version to launch.' });
export const launchResultSchema = z.object({
  id: z.string(),
  version: z.int(),
  replaced: z.int().optional().meta({ description: 'The version that was launched before.' }),
  already_launched: z.boolean(),
  status: stateFields.status,
});
export type LaunchResult = Readonly<z.infer<typeof launchResultSchema>>;

export const tagTemplateSchema = z
  .strictObject({
    tag: z.string().meta({ description: 'An assignable channel.' }),
    version: selector('Number or channel; `stable` when absent.'),
  })
  .meta({ description: 'Which channel to point where.' });
export const tagResultSchema = z.object({ id: z.string(), tag: z.string(), version: z.int() });

export const deprecateTemplateSchema = z
  .strictObject({
    reason: z.string().nullish().meta({ description: 'Shown to everybody who runs it.' }),
    undo: z.boolean().nullish().meta({ description: 'Revive it.' }),
  })
  .meta({ description: 'Why it should not be used any more.' });
export const deprecateResultSchema = z.object({ id: z.string(), status: stateFields.status });
export const versionDeprecateResultSchema = z.object({
  id: z.string(),
  version: z.int(),
  deprecated: z.boolean(),
});

const { config: _config, config_format: _format, ...settings } = submissionSchema.shape;

export const runTemplateSchema = z
  .strictObject({
    ...settings,
    params: z
      .record(z.string(), z.unknown())
      .nullish()
      .meta({ description: 'Values of the parameters, by name.', secret: true }),
    env: z
      .record(z.string(), z.string())
      .nullish()
      .meta({ description: 'Variables that `${env:…}` of this run sees first.', secret: true }),
    version: selector('Number or channel; `stable` when absent.'),
    sink: z.string().nullish().meta({ description: 'Id of a sink template.' }),
    sink_version: selector('Its version; `stable` when absent.'),
    overlay: z
      .union([z.string(), z.record(z.string(), z.unknown())])
      .nullish()
      .meta({ description: 'Id of a deployment, or one as a mapping.' }),
    overlay_version: selector('Its version; `stable` when absent.'),
  })
  .meta({ description: 'How to run a template.' });
export type RunTemplate = Readonly<z.infer<typeof runTemplateSchema>>;

export const streamPlanSchema = z.object({
  stream: z.string(),
  requested: z.array(z.enum(WRITE_MODES)),
  chosen: z.enum(WRITE_MODES),
  satisfies: z.enum(WRITE_MODES).optional().meta({
    description: 'The requested mode for which an alias of the sink stands in.',
  }),
  key: z.array(z.string()),
});

export const templateRunSchema = submissionReceiptSchema.extend({
  template_id: z.string(),
  template_version: z.int(),
  params: z
    .record(z.string(), z.unknown())
    .meta({ description: 'The values it runs with; secret ones are masked.' }),
  deprecated: z.string().optional(),
  streams: z.array(streamPlanSchema).optional(),
  sink_template: z.string().optional(),
  sink_template_version: z.int().optional(),
  overlay: z.string().optional().meta({ description: '`inline`, or the id of the deployment.' }),
  overlay_version: z.int().optional(),
  overlay_contributes: z.array(z.string()).optional(),
  warnings: z.array(z.string()).optional(),
});
export type TemplateRun = Readonly<z.infer<typeof templateRunSchema>>;

const matrixParam = z.object({
  name: z.string(),
  type: z.string(),
  required: z.boolean(),
  secret: z.boolean(),
  description: z.string().nullable(),
  default: z.unknown(),
});
const matrixEntry = {
  id: z.string(),
  owner: z.string().nullable(),
  official: z.boolean(),
  newest: z.int().nullable(),
  stable: z.int().nullable(),
  name: z.string(),
  description: z.string().nullable(),
  tags: z.array(z.string()),
  docs: z.string().nullable(),
  file: z.string().nullable(),
  params: z.array(matrixParam),
};
export const templateMatrixSchema = z
  .object({
    version: z.literal(1),
    sources: z.array(
      z.object({
        ...matrixEntry,
        source_type: z.string(),
        streams: z.array(
          z.object({
            name: z.string(),
            description: z.string().nullable(),
            write: z.array(z.enum(WRITE_MODES)),
            primary_keys: z.array(z.string()),
          }),
        ),
      }),
    ),
    sinks: z.array(
      z.object({
        ...matrixEntry,
        sink_type: z.string(),
        write_modes: z.array(z.enum(WRITE_MODES)),
      }),
    ),
    matrix: z.array(
      z.object({
        source: z.string(),
        sink: z.string(),
        compatible: z.boolean(),
        streams: z.array(
          z.object({
            stream: z.string(),
            write_mode: z.enum(WRITE_MODES),
            satisfies: z.enum(WRITE_MODES).optional(),
          }),
        ),
        incompatible: z.array(z.object({ stream: z.string(), reason: z.string() })).optional(),
        command: z.string().optional(),
      }),
    ),
  })
  .meta({ description: 'Every pairing of a source template with a sink template.' });
export type TemplateMatrix = Readonly<z.infer<typeof templateMatrixSchema>>;

const ORIGIN_LAUNCHES = ['ignore', 'follow', 'always'] as const;
const SYNC_ACTIONS = [
  'register',
  'launch',
  'revive',
  'unchanged',
  'orphaned',
  'deprecate',
  'skipped',
] as const;

export const syncOriginSchema = z
  .object({
    name: z.string(),
    kind: z.string().meta({ description: 'Kind of its source.' }),
    prefix: z.string().meta({ description: 'Ids of its templates begin with it.' }),
    launch: z.enum(ORIGIN_LAUNCHES),
    prune: z.enum(['keep', 'deprecate']),
    interval_secs: z
      .int()
      .optional()
      .meta({ description: 'Absent: only at the start and on request.' }),
  })
  .meta({ description: 'Where templates come from.' });
export type SyncOrigin = Readonly<z.infer<typeof syncOriginSchema>>;

export const syncRequestSchema = z
  .strictObject({
    origin: z.string().nullish().meta({ description: 'Name of one origin; all when absent.' }),
    dry_run: z.boolean().nullish().meta({ description: 'Say what would be done.' }),
  })
  .meta({ description: 'Which origins to read.' });

const syncPlanItem = z.object({
  action: z.enum(SYNC_ACTIONS),
  id: z.string().optional(),
  name: z.string().optional().meta({ description: 'File of the origin.' }),
  version: z.int().optional(),
  launch: z.boolean().optional(),
  replaces: z.int().optional().meta({ description: 'The version that is launched now.' }),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  reason: z.string().optional(),
});
export type SyncPlanItem = z.infer<typeof syncPlanItem>;

const syncOutcome = z.object({
  registered: z.array(z.object({ id: z.string(), version: z.int(), launched: z.boolean() })),
  launched: z.array(z.object({ id: z.string(), version: z.int() })),
  revived: z.array(z.string()),
  deprecated: z.array(z.string()),
  unchanged: z.int(),
  orphaned: z.array(z.string()).meta({ description: 'In the registry, and not in the origin.' }),
  skipped: z.array(z.tuple([z.string(), z.string()])).meta({ description: 'File and reason.' }),
  failed: z.array(z.object({ id: z.string(), error: z.string() })),
});
export type SyncOutcome = z.infer<typeof syncOutcome>;

const syncReport = z.object({
  origin: z.string(),
  kind: z.string(),
  dry_run: z.boolean(),
  warnings: z.array(z.string()),
  plan: z.array(syncPlanItem),
  outcome: syncOutcome.optional().meta({ description: 'Absent for a dry run.' }),
});
export type SyncReport = z.infer<typeof syncReport>;

export const syncResultSchema = z
  .object({
    dry_run: z.boolean(),
    reports: z.array(syncReport),
    origin_errors: z
      .array(z.object({ origin: z.string(), error: z.string() }))
      .meta({ description: 'Origins that could not be read.' }),
  })
  .meta({ description: 'What became of each origin.' });
export type SyncResult = Readonly<z.infer<typeof syncResultSchema>>;

export const publishRequestSchema = z
  .strictObject({
    origin: z.string().meta({ description: 'Name of the origin to write to.' }),
    version: selector('Number or channel; `stable` when absent.'),
  })
  .meta({ description: 'What to write back, and where.' });
export const publishReceiptSchema = z.object({
  id: z.string(),
  version: z.int(),
  origin: z.string(),
  name: z.string().meta({ description: 'The file in the origin.' }),
  location: z.string().meta({ description: 'Where it is now: a path, or a commit.' }),
});
export type PublishReceipt = Readonly<z.infer<typeof publishReceiptSchema>>;
