/** The fields of incremental reading that several connectors of this family share. */
import { z } from 'zod';
import { finding, text } from '../../kit/schema.ts';
import { tagged } from './fields.ts';

const FORMATS = ['raw', 'iso8601', 'epoch_s', 'epoch_ms', 'date'] as const;
export type PositionFormat = (typeof FORMATS)[number];

export const BOOKMARK_TOKEN = '${bookmark}';

/** How a position is written into a request; `token` stands for it in the template. */
export function positionForm(token: string) {
  return {
    template: text()
      .default(token)
      .superRefine((value, ctx) => {
        if (!value.includes(token))
          ctx.addIssue(finding('invalid_value', `\`template\` must contain \`${token}\``));
      })
      .meta({ description: `Text to send; \`${token}\` stands for the value.` }),
    format: z.enum(FORMATS).default('raw').meta({ description: 'How the value is written.' }),
  };
}

export const replicationMethod = z.lazy(() =>
  z
    .preprocess(
      (value) =>
        value === null || value === undefined
          ? { type: 'FullTable' }
          : tagged(['FullTable', 'Incremental'])(value),
      z.discriminatedUnion('type', [
        z.strictObject({
          type: z.literal('FullTable').meta({ description: 'Everything, every time.' }),
        }),
        z.strictObject({
          type: z
            .literal('Incremental')
            .meta({ description: 'Only what is new since the last run.' }),
        }),
      ]),
    )
    .default({ type: 'FullTable' })
    .meta({
      description:
        '`FullTable` reads everything every time; `Incremental` continues where the last run ended.',
    }),
);
