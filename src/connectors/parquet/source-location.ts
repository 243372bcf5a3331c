import { z } from 'zod';
import { finding, optional, text } from '../../kit/schema.ts';
import { filePath } from '../_files/config.ts';
import { azureFields, checkPlace } from '../_objects/azure-place.ts';
import { gcsFields } from '../_objects/gcs-place.ts';
import { s3Fields } from '../_objects/s3-place.ts';

function whichObjects() {
  return {
    key: optional(text()).meta({ description: 'One object.' }),
    prefix: optional(z.string()).meta({
      description: 'All objects whose key starts like this.',
    }),
  };
}

type Which = z.output<z.ZodObject<ReturnType<typeof whichObjects>>>;

function checkWhich({ key, prefix }: Which, ctx: z.RefinementCtx): void {
  if ((key === undefined) !== (prefix === undefined)) return;
  const message = 'exactly one of `key` and `prefix` says what is read';
  ctx.addIssue(finding('invalid_value', message, { path: ['key'] }));
}

export const location = z.lazy(() =>
  z
    .discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('local_path').meta({ description: 'One file on this machine.' }),
        path: filePath('File to read; relative paths start at the folder the process runs in.'),
      }),
      z.strictObject({
        type: z
          .literal('glob')
          .meta({ description: 'All files that match a pattern, in the order of their paths.' }),
        pattern: text().meta({ description: 'Pattern with `*`, `**`, `?`, `[…]` and `{a,b}`.' }),
      }),
      z
        .strictObject({
          type: z
            .literal('s3')
            .meta({ description: 'Objects in a bucket of Amazon S3 or a compatible store.' }),
          ...s3Fields(),
          ...whichObjects(),
        })
        .superRefine(checkWhich),
      z
        .strictObject({
          type: z
            .literal('gcs')
            .meta({ description: 'Objects in a bucket of Google Cloud Storage.' }),
          ...gcsFields(),
          ...whichObjects(),
        })
        .superRefine(checkWhich),
      z
        .strictObject({
          type: z
            .literal('azure-blob')
            .meta({ description: 'Objects in a container of Azure Blob Storage.' }),
          ...azureFields(),
          ...whichObjects(),
        })
        .superRefine((value, ctx) => {
          checkPlace(value, ctx);
          checkWhich(value, ctx);
        }),
    ])
    .meta({ description: 'Where the files are.' }),
);
