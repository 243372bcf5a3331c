/** The registry of templates. */
import { z } from 'zod';
import type { RunTemplate } from '../../wire/templates.ts';
import { defineTool } from '../define-tool.ts';
import { completed, documentOf, dryRun } from './documents.ts';

const id = z.string().meta({ description: 'Id of the template.' });
const version = z
  .union([z.string(), z.int()])
  .optional()
  .meta({ description: 'Number or channel.' });

export const listTemplatesTool = defineTool({
  name: 'list_templates',
  description: 'Lists the templates of the registry.',
  input: z.strictObject({}),
  needs: 'template_read',
  call: async (_input, context) => {
    const templates = await context.templates.list(undefined);
    return { count: templates.length, templates };
  },
});

export const getTemplateTool = defineTool({
  name: 'get_template',
  description: 'Gives one version of a template with its document, and its release state.',
  input: z.strictObject({ id, version }),
  needs: 'template_read',
  call: async (input, { templates }) => {
    const { launches, is_stable, ...rest } = await templates.get(input.id, input.version);
    const { status, versions, stable, previous, newest, tags, ...template } = rest;
    const state = { status, versions, stable, previous, newest, tags };
    return { template, state, is_stable, launches };
  },
});

export const registerTemplateTool = defineTool({
  name: 'register_template',
  description: 'Registers a document as a new version of a template.',
  input: z.strictObject({
    config: z.string().meta({ description: 'The document, YAML or JSON text.' }),
    id: z.string().optional().meta({ description: 'By default made of its name.' }),
    description: z.string().optional().meta({ description: 'What it is for.' }),
    tags: z.array(z.string()).optional().meta({ description: 'Channels to point at it.' }),
    launch: z.boolean().optional().meta({ description: 'Make it the stable version.' }),
  }),
  needs: 'template_admin',
  mutates: true,
  call: async (input, { templates, signal }) => ({
    registered: await templates.register({ ...input, config_format: 'yaml' }, signal),
  }),
});

export const launchTemplateTool = defineTool({
  name: 'launch_template',
  description: 'Makes a version of a template the stable one.',
  input: z.strictObject({ id, version }),
  needs: 'template_admin',
  mutates: true,
  call: async (input, { templates }) => {
    const launched = await templates.launch(input.id, input.version);
    const { already_launched: again, replaced } = launched as {
      readonly already_launched?: boolean;
      readonly replaced?: number;
    };
    return { ...launched, first_launch: replaced === undefined && again !== true };
  },
});

export const rollbackTemplateTool = defineTool({
  name: 'rollback_template',
  description: 'Launches the version of a template that was launched before.',
  input: z.strictObject({ id }),
  needs: 'template_admin',
  mutates: true,
  call: (input, { templates }) => templates.rollBack(input.id),
});

export const deprecateTemplateTool = defineTool({
  name: 'deprecate_template',
  description: 'Says that a template should not be used any more, or takes that back.',
  input: z.strictObject({
    id,
    reason: z.string().optional().meta({ description: 'Shown to everybody who runs it.' }),
    undo: z.boolean().default(false).meta({ description: 'Revive it.' }),
  }),
  needs: 'template_admin',
  mutates: true,
  call: (input, { templates }) =>
    templates.deprecate(input.id, { reason: input.reason, undo: input.undo }),
});

export const runTemplateTool = defineTool({
  name: 'run_template',
  description:
    'Runs a template and waits for its end. With `dry_run` everything is read and checked, and nothing is written.',
  input: z.strictObject({
    id,
    version,
    params: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'Values of its parameters, by name.' }),
    env: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Variables that its `${env:…}` see first.' }),
    dry_run: z.boolean().default(false).meta({ description: 'Write nothing.' }),
    sink: z.string().optional().meta({ description: 'Id of a sink template.' }),
    sink_version: version,
  }),
  needs: 'run_write',
  mutates: true,
  call: async ({ id: template, dry_run: isDry, ...how }, context) => {
    const request: RunTemplate = how;
    if (!isDry) return completed(await context.runTemplate(template, request, context.signal));
    const { config, main } = await context.templates.choose(template, request, context.signal);
    const bound = { params: (how.params ?? {}) as never, env: how.env ?? {} };
    const document = { ...documentOf(config, context), bound };
    const rows = await dryRun(document, context);
    const origin = { template_id: template, template_version: main.version.version };
    return completed({ ...origin, ...rows });
  },
});
