/** The registry of templates. */
import { z } from 'zod';
import { TEMPLATE_KINDS } from '../../wire/template-kinds.ts';
import {
  deprecateResultSchema,
  deprecateTemplateSchema,
  launchResultSchema,
  launchTemplateSchema,
  publishReceiptSchema,
  publishRequestSchema,
  registerTemplateSchema,
  runTemplateSchema,
  syncRequestSchema,
  syncResultSchema,
  tagResultSchema,
  tagTemplateSchema,
  templateDetailSchema,
  templateListSchema,
  templateMatrixSchema,
  templateRunSchema,
  templateSummarySchema,
  versionDeprecateResultSchema,
} from '../../wire/templates.ts';
import { itemPieces } from '../http/json-pieces.ts';
import { clamped } from '../http/query.ts';
import { defineRoute, empty, json, longJson, type Route } from '../route.ts';

const templateParams = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(200)
    .meta({ description: 'Template id; the slash of `owner/name` is sent as `%2F`.' }),
});

const versionQuery = (description: string) =>
  z.strictObject({ version: z.string().optional().meta({ description }) });

const registerTemplate = defineRoute({
  method: 'POST',
  path: '/v1/templates',
  permission: 'template_admin',
  label: 'template.register',
  tag: 'templates',
  summary: 'Register a version of a template',
  description:
    'Checks the document with placeholders for its parameters and stores it as it was sent: no variable, file or secret is read. ' +
    'Whoever runs the template goes on with the version that is launched.',
  body: registerTemplateSchema,
  uses: ['templates'],
  responses: { 201: { description: 'The new version.', schema: templateSummarySchema } },
  refusals: ['unprocessable', 'queue_full'],
  async handle({ body, caller, signal }, { templates }) {
    return json(201, await templates.register(body, caller, signal));
  },
});

const listTemplates = defineRoute({
  method: 'GET',
  path: '/v1/templates',
  permission: 'template_read',
  label: 'template.list',
  tag: 'templates',
  summary: 'List templates',
  query: z.strictObject({
    kind: z.enum(TEMPLATE_KINDS).optional().meta({ description: 'Templates of this kind only.' }),
    limit: clamped({ min: 1, max: 1000 }).meta({
      description: 'Templates on a page; all of them when absent.',
    }),
    cursor: z.string().optional().meta({ description: '`next_cursor` of the page before.' }),
  }),
  uses: ['templates', 'templateSync'],
  responses: { 200: { description: 'The templates.', schema: templateListSchema } },
  async handle({ query: { kind, limit, cursor } }, { templates, templateSync: { origins } }) {
    const sync = origins.length === 0 ? {} : { sync: { origins } };
    if (limit === undefined) {
      const items = itemPieces(await templates.list(kind));
      return longJson({ before: {}, name: 'templates', items, after: sync });
    }
    const page = await templates.page({
      limit,
      ...(kind === undefined ? {} : { kind }),
      ...(cursor === undefined ? {} : { after: cursor }),
    });
    const next = page.more ? (page.templates.at(-1)?.id ?? null) : null;
    return json(200, { templates: page.templates, next_cursor: next, ...sync });
  },
});

const syncTemplates = defineRoute({
  method: 'POST',
  path: '/v1/templates/sync',
  permission: 'template_admin',
  label: 'template.sync',
  tag: 'templates',
  summary: 'Read templates from their origins',
  description:
    'New and changed documents become new versions; nothing that is registered is changed. An origin that cannot be read does not keep the others.',
  body: syncRequestSchema,
  bodyOptional: true,
  uses: ['templateSync'],
  responses: { 200: { description: 'A report for each origin.', schema: syncResultSchema } },
  refusals: ['unprocessable'],
  async handle({ body, caller, signal }, { templateSync }) {
    return json(200, await templateSync.sync(body, caller, signal));
  },
});

const publishTemplate = defineRoute({
  method: 'POST',
  path: '/v1/templates/{id}/publish',
  permission: 'template_admin',
  label: 'template.publish',
  tag: 'templates',
  summary: 'Write a version of a template back to an origin',
  params: templateParams,
  body: publishRequestSchema,
  uses: ['templateSync'],
  responses: { 200: { description: 'Where it is now.', schema: publishReceiptSchema } },
  refusals: ['unprocessable'],
  async handle({ params, body, caller, signal }, { templateSync }) {
    return json(200, await templateSync.publish(params.id, body, caller, signal));
  },
});

const templateMatrix = defineRoute({
  method: 'GET',
  path: '/v1/templates/matrix',
  permission: 'template_read',
  label: 'template.matrix',
  tag: 'templates',
  summary: 'Which source template fits which sink template',
  uses: ['templates'],
  responses: {
    200: {
      description: 'Every pair, with the write modes of its streams.',
      schema: templateMatrixSchema,
    },
  },
  refusals: ['unprocessable', 'queue_full'],
  async handle({ signal }, { templates }) {
    return json(200, await templates.matrix(signal));
  },
});

const getTemplate = defineRoute({
  method: 'GET',
  path: '/v1/templates/{id}',
  permission: 'template_read',
  label: 'template.get',
  tag: 'templates',
  summary: 'Read one version of a template',
  params: templateParams,
  query: versionQuery('Number or channel; `stable` when absent, `newest` reads a draft.'),
  uses: ['templates'],
  responses: { 200: { description: 'The version.', schema: templateDetailSchema } },
  refusals: ['unprocessable'],
  async handle({ params, query }, { templates }) {
    return json(200, await templates.get(params.id, query.version));
  },
});

const deleteTemplate = defineRoute({
  method: 'DELETE',
  path: '/v1/templates/{id}',
  permission: 'template_admin',
  label: 'template.delete',
  tag: 'templates',
  summary: 'Delete a template, or one version of it',
  params: templateParams,
  query: versionQuery('Number or channel; all versions when absent.'),
  uses: ['templates'],
  responses: { 204: { description: 'It is gone.' } },
  refusals: ['unprocessable'],
  async handle({ params, query, caller }, { templates }) {
    await templates.delete(params.id, query.version, caller);
    return empty(204);
  },
});

const runTemplate = defineRoute({
  method: 'POST',
  path: '/v1/templates/{id}/runs',
  permission: 'run_write',
  label: 'template.run',
  tag: 'templates',
  summary: 'Run a template',
  description:
    'A pipeline runs as it is; a source template needs a `sink`, and takes an `overlay`. The run carries labels that name the templates and their versions.',
  params: templateParams,
  body: runTemplateSchema,
  bodyOptional: true,
  uses: ['templates', 'redactor'],
  responses: { 202: { description: 'The run is queued.', schema: templateRunSchema } },
  refusals: ['conflict', 'unprocessable', 'queue_full'],
  async handle({ params, body, caller, signal }, { templates, redactor }) {
    return json(202, redactor.json(await templates.run(params.id, body, caller, signal)));
  },
});

const tagTemplate = defineRoute({
  method: 'POST',
  path: '/v1/templates/{id}/tags',
  permission: 'template_admin',
  label: 'template.promote',
  tag: 'templates',
  summary: 'Point a channel at a version',
  params: templateParams,
  body: tagTemplateSchema,
  uses: ['templates'],
  responses: { 200: { description: 'Where it points now.', schema: tagResultSchema } },
  refusals: ['unprocessable'],
  async handle({ params, body, caller }, { templates }) {
    const { tag, version } = body;
    return json(200, await templates.tag(params.id, { tag, version }, caller));
  },
});

const launchTemplate = defineRoute({
  method: 'POST',
  path: '/v1/templates/{id}/launch',
  permission: 'template_admin',
  label: 'template.launch',
  tag: 'templates',
  summary: 'Make a version the stable one',
  params: templateParams,
  body: launchTemplateSchema,
  bodyOptional: true,
  uses: ['templates'],
  responses: { 200: { description: 'What is launched now.', schema: launchResultSchema } },
  refusals: ['unprocessable'],
  async handle({ params, body, caller }, { templates }) {
    return json(200, await templates.launch(params.id, body.version, caller));
  },
});

const rollBackTemplate = defineRoute({
  method: 'POST',
  path: '/v1/templates/{id}/rollback',
  permission: 'template_admin',
  label: 'template.rollback',
  tag: 'templates',
  summary: 'Launch the previous version again',
  params: templateParams,
  uses: ['templates'],
  responses: { 200: { description: 'What is launched now.', schema: launchResultSchema } },
  refusals: ['unprocessable'],
  async handle({ params, caller }, { templates }) {
    return json(200, await templates.rollBack(params.id, caller));
  },
});

const deprecateTemplate = defineRoute({
  method: 'POST',
  path: '/v1/templates/{id}/deprecate',
  permission: 'template_admin',
  label: 'template.deprecate',
  tag: 'templates',
  summary: 'Advise against a template, or revive it',
  description: 'A deprecated template still runs, and says so. It cannot be launched.',
  params: templateParams,
  body: deprecateTemplateSchema,
  bodyOptional: true,
  uses: ['templates'],
  responses: { 200: { description: 'Its status now.', schema: deprecateResultSchema } },
  refusals: ['unprocessable'],
  async handle({ params, body, caller }, { templates }) {
    const request = { reason: body.reason ?? undefined, undo: body.undo ?? false };
    return json(200, await templates.deprecate(params.id, request, caller));
  },
});

const deprecateVersion = defineRoute({
  method: 'POST',
  path: '/v1/templates/{id}/versions/{version}/deprecate',
  permission: 'template_admin',
  label: 'template.version_deprecate',
  tag: 'templates',
  summary: 'Advise against one version, or revive it',
  description:
    'A deprecated version still runs when it is named, is no `newest`, and cannot be launched.',
  params: templateParams.extend({
    version: z.string().min(1).max(64).meta({ description: 'Number or channel.' }),
  }),
  body: deprecateTemplateSchema,
  bodyOptional: true,
  uses: ['templates'],
  responses: {
    200: { description: 'Whether it is deprecated now.', schema: versionDeprecateResultSchema },
  },
  refusals: ['unprocessable'],
  async handle({ params, body, caller }, { templates }) {
    const request = { reason: body.reason ?? undefined, undo: body.undo ?? false };
    return json(200, await templates.deprecateVersion(params, request, caller));
  },
});

export const templateRoutes: readonly Route[] = [
  registerTemplate,
  listTemplates,
  templateMatrix,
  syncTemplates,
  publishTemplate,
  getTemplate,
  deleteTemplate,
  runTemplate,
  tagTemplate,
  launchTemplate,
  rollBackTemplate,
  deprecateTemplate,
  deprecateVersion,
];
