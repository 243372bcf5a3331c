import { stagePreviewRequestSchema, stagePreviewSchema } from '../../wire/stage-preview.ts';
import { defineRoute, json, type Route } from '../route.ts';

const previewStages = defineRoute({
  method: 'POST',
  path: '/v1/preview',
  permission: 'doctor',
  label: 'preview',
  tag: 'operations',
  summary: 'Show the first records of a document after each of its stages',
  description:
    'Reads the source of one row. No sink is opened, no bookmark is read or stored, and what masking hides is hidden everywhere.',
  body: stagePreviewRequestSchema,
  uses: ['stagePreview', 'redactor'],
  responses: { 200: { description: 'The records, stage by stage.', schema: stagePreviewSchema } },
  refusals: ['unprocessable', 'queue_full'],
  async handle({ body, signal }, { stagePreview, redactor }) {
    return json(200, redactor.json(await stagePreview(body, signal)));
  },
});

export const stagePreviewRoutes: readonly Route[] = [previewStages];
