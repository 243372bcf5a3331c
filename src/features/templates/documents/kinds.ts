/** The kinds of document that the registry takes, and what each may hold. */
import { z } from 'zod';
import { paramsSchema } from '../../../document/structure/params.ts';
import { boolean, finding, json, text } from '../../../kit/schema.ts';
import { isObject, stringifyJson, type JsonObject } from '../../../lib/text/json.ts';
import { WRITE_MODES, type TEMPLATE_KINDS } from '../../../wire/template-kinds.ts';

export type TemplateKind = (typeof TEMPLATE_KINDS)[number];

/** What may stand there is judged when the template is composed. */
const mapping = z.custom<JsonObject>((value) => isObject(value), 'expected a mapping');
const parts = z.array(mapping);

const slug = (pattern: RegExp, words: string) =>
  z
    .string()
    .max(64)
    .superRefine((value, ctx) => {
      if (pattern.test(value)) return;
      ctx.addIssue(finding('invalid_value', `${JSON.stringify(value)} is not a name: ${words}`));
    });
const NAME = /^[a-z0-9][a-z0-9_-]*$/;
const templateName = slug(NAME, 'lower-case letters, digits, `-` and `_`');
/** Becomes the name of a table, so it has no dash. */
const streamName = slug(/^[a-z0-9][a-z0-9_]*$/, 'lower-case letters, digits and `_`');

const header = {
  version: z
    .literal([1, '1'])
    .default(1)
    .meta({ description: 'Version of the format of templates; must be 1.' }),
  name: templateName.meta({ description: 'Name of the template.' }),
  owner: templateName.optional().meta({ description: 'Whose it is: the id is `owner/name`.' }),
  description: z.string().optional().meta({ description: 'What it is for.' }),
  tags: z.array(z.string()).default([]).meta({ description: 'For people who look for it.' }),
  params: paramsSchema.default({}).meta({ description: 'Values that the caller supplies.' }),
};
const ofConnector = {
  docs: z.string().optional().meta({ description: 'Address of more text.' }),
  auth: mapping.default({}).meta({ description: 'Logins by name, shared by connectors.' }),
};

/** A connector of a template; transforms have places of their own. */
const connector = z.strictObject({
  type: text().meta({ description: 'Name of the connector.' }),
  config: mapping.default({}).meta({ description: 'Its settings.' }),
});

const writeMode = z.enum(WRITE_MODES);
const writeModes = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z
    .array(writeMode)
    .min(1)
    .superRefine((modes, ctx) => {
      for (const [index, mode] of modes.entries())
        if (modes.indexOf(mode) < index)
          ctx.addIssue(finding('duplicate_name', `\`${mode}\` is listed twice`, { path: [index] }));
    }),
);

const stream = z
  .strictObject({
    name: streamName.meta({ description: 'Name of the stream; unique.' }),
    description: z.string().optional().meta({ description: 'What it holds.' }),
    source: z
      .strictObject({
        ref: z.string().default('default').meta({ description: 'Which connector it reads.' }),
        config: mapping.default({}).meta({ description: 'Merged over the connector.' }),
      })
      .default({ ref: 'default', config: {} })
      .meta({ description: 'What it reads.' }),
    transforms: parts.default([]).meta({ description: 'Transforms of this stream.' }),
    primary_keys: z
      .array(text())
      .default([])
      .meta({ description: 'Fields that identify a record.' }),
    write: writeModes
      .default(['append'])
      .meta({ description: 'The write modes that suit it, the best first.' }),
    parent: z.string().optional().meta({ description: 'Stream for whose records it is read.' }),
    parent_key: z.string().optional().meta({ description: 'Field of the parent; `id` if absent.' }),
    inherit_transforms: boolean()
      .default(true)
      .meta({ description: 'Whether the transforms of the template come first.' }),
  })
  .superRefine((one, ctx) => {
    if (one.parent_key !== undefined && one.parent === undefined)
      ctx.addIssue(
        finding('conflicting_keys', '`parent_key` needs a `parent`', { path: ['parent_key'] }),
      );
    if (one.parent === one.name)
      ctx.addIssue(
        finding('invalid_value', 'a stream is not its own parent', { path: ['parent'] }),
      );
  });
export type Stream = z.infer<typeof stream>;

export const sourceTemplateSchema = z
  .strictObject({
    kind: z.literal('source-template'),
    ...header,
    ...ofConnector,
    source: connector.meta({ description: 'The connector that streams read by default.' }),
    sources: z
      .record(z.string(), connector)
      .default({})
      .meta({ description: 'Further connectors by name.' }),
    transforms: parts.default([]).meta({ description: 'Transforms of every stream.' }),
    contract: mapping.optional().meta({ description: 'The contract of what is written.' }),
    streams: z.array(stream).min(1).meta({ description: 'What can be moved.' }),
  })
  .superRefine(({ sources, streams }, ctx) => {
    if (Object.hasOwn(sources, 'default'))
      ctx.addIssue(
        finding('reserved_name', '`default` is the connector under `source`', {
          path: ['sources', 'default'],
        }),
      );
    const names = streams.map(({ name }) => name);
    for (const [index, one] of streams.entries()) {
      const fault = (code: string, key: string, message: string, hint: string): void =>
        ctx.addIssue(finding(code, message, { path: ['streams', index, ...key.split('.')], hint }));
      if (names.indexOf(one.name) < index)
        fault('duplicate_name', 'name', `the stream \`${one.name}\` is there twice`, 'rename one');
      if (one.source.ref !== 'default' && !Object.hasOwn(sources, one.source.ref)) {
        const known = ['default', ...Object.keys(sources)].join(', ');
        fault(
          'unknown_template',
          'source.ref',
          `there is no connector \`${one.source.ref}\``,
          `there are: ${known}`,
        );
      }
      if (one.parent !== undefined && !names.includes(one.parent))
        fault(
          'unknown_row',
          'parent',
          `there is no stream \`${one.parent}\``,
          `there are: ${names.join(', ')}`,
        );
    }
  });
export type SourceTemplate = z.infer<typeof sourceTemplateSchema>;

const CHOSEN_BY_STREAM = ['write_mode', 'key'];

export const sinkTemplateSchema = z
  .strictObject({
    kind: z.literal('sink-template'),
    ...header,
    ...ofConnector,
    sink: connector.meta({ description: 'The connector that is written to.' }),
    per_stream: mapping.meta({
      description: 'Settings of each stream, over those of the connector; `${stream}` is its name.',
    }),
    write_mode_aliases: z
      .partialRecord(writeMode, writeMode)
      .default({})
      .meta({ description: 'Modes that stand in for one that the connector does not have.' }),
  })
  .superRefine(({ sink, per_stream, write_mode_aliases: aliases }, ctx) => {
    for (const key of CHOSEN_BY_STREAM)
      for (const [place, config] of [
        [['sink', 'config'], sink.config],
        [['per_stream'], per_stream],
      ] as const)
        if (Object.hasOwn(config, key))
          ctx.addIssue(
            finding('unknown_key', `\`${key}\` follows from the streams of the source`, {
              path: [...place, key],
              hint: 'leave it out',
            }),
          );
    if (!stringifyJson(per_stream).includes('${stream}'))
      ctx.addIssue(
        finding('missing_key', 'no setting of `per_stream` holds `${stream}`', {
          path: ['per_stream'],
          hint: 'without it all streams would be written to one place; for example `table: ${stream}`',
        }),
      );
    for (const [mode, other] of Object.entries(aliases)) {
      const wrong =
        mode === other
          ? 'a mode cannot stand in for itself'
          : mode === 'upsert' || mode === 'delete'
            ? `nothing can stand in for \`${mode}\`, which needs a key`
            : undefined;
      if (wrong !== undefined)
        ctx.addIssue(finding('invalid_value', wrong, { path: ['write_mode_aliases', mode] }));
    }
  });
export type SinkTemplate = z.infer<typeof sinkTemplateSchema>;

/** Where each block of a deployment lands in the composed document. */
export const DEPLOYED_BLOCKS: Readonly<Record<string, string>> = {
  state: 'pipeline.state',
  dlq: 'pipeline.dlq',
  notifications: 'notifications',
  sla: 'sla',
  resilience: 'resilience',
  execution: 'execution',
  delivery: 'delivery',
  schedule: 'schedule',
};
export const DEPLOYED_PER_STREAM = ['sla', 'dlq', 'delivery'] as const;

const block = json().optional();
const perStream = z
  .strictObject({
    sla: block.meta({ description: 'Replaces the block for this stream.' }),
    dlq: block.meta({ description: 'Replaces the block for this stream; null: none.' }),
    delivery: block.meta({ description: 'Replaces the block for this stream.' }),
  })
  .superRefine((entry, ctx) => {
    if (Object.keys(entry).length === 0)
      ctx.addIssue(
        finding('missing_key', 'says nothing about the stream', {
          hint: `it may set ${DEPLOYED_PER_STREAM.join(', ')}`,
        }),
      );
  });

const deployed = Object.fromEntries(
  Object.keys(DEPLOYED_BLOCKS).map((name) => [
    name,
    block.meta({ description: `Replaces the block \`${name}\`.` }),
  ]),
);

export const deploymentSchema = z
  .strictObject({
    kind: z.literal('deployment'),
    ...header,
    ...deployed,
    notify: block.meta({ description: 'Another name of `notifications`.' }),
    streams: z
      .record(z.string(), perStream)
      .default({})
      .meta({ description: 'What differs for single streams.' }),
  })
  .superRefine((one, ctx) => {
    if (one.notify !== undefined && Object.hasOwn(one, 'notifications'))
      ctx.addIssue(
        finding('conflicting_keys', '`notify` and `notifications` are the same', {
          path: ['notify'],
        }),
      );
  });
export type Deployment = z.infer<typeof deploymentSchema>;
