import { z } from 'zod';
import { finding, optional, text } from '../../kit/schema.ts';
import { filePath } from '../_files/config.ts';
import { s3Fields } from '../_objects/s3-place.ts';

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
          key: optional(text()).meta({ description: 'One object.' }),
          prefix: optional(z.string()).meta({
            description: 'All objects whose key starts like this.',
          }),
        })
        .superRefine(({ key, prefix }, ctx) => {
          if ((key === undefined) !== (prefix === undefined)) return;
          const message = 'exactly one of `key` and `prefix` says what is read';
          ctx.addIssue(finding('invalid_value', message, { path: ['key'] }));
        }),
    ])
    .meta({ description: 'Where the files are.' }),
);
