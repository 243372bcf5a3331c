import { z } from 'zod';
import { boolean, finding } from '../../kit/schema.ts';
import { filePath } from '../_files/config.ts';
import { azureFields, checkPlace } from '../_objects/azure-place.ts';
import { gcsFields } from '../_objects/gcs-place.ts';
import { s3Fields } from '../_objects/s3-place.ts';

const prefix = () => z.string().default('').meta({ description: 'What the keys start with.' });

export const destination = z.lazy(() =>
  z
    .discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('local_path').meta({ description: 'A file or a folder on this machine.' }),
        path: filePath(
          'A name ending in .parquet is one file; anything else is a folder that gets one file per flush.',
        ),
      }),
      z
        .strictObject({
          type: z
            .literal('s3')
            .meta({ description: 'Objects in a bucket of Amazon S3 or a compatible store.' }),
          ...s3Fields(),
          prefix: prefix(),
          allow_http: boolean()
            .default(false)
            .meta({ description: 'Whether the address may be plain http.' }),
        })
        .superRefine(({ endpoint_url: url, allow_http: allows }, ctx) => {
          if (allows || url?.startsWith('http:') !== true) return;
          const hint = 'use https, or set `allow_http: true`';
          ctx.addIssue(
            finding('invalid_value', 'this address is not encrypted', {
              path: ['endpoint_url'],
              hint,
            }),
          );
        }),
      z.strictObject({
        type: z
          .literal('gcs')
          .meta({ description: 'Objects in a bucket of Google Cloud Storage.' }),
        ...gcsFields(),
        prefix: prefix(),
      }),
      z
        .strictObject({
          type: z
            .literal('azure-blob')
            .meta({ description: 'Objects in a container of Azure Blob Storage.' }),
          ...azureFields(),
          prefix: prefix(),
        })
        .superRefine(checkPlace),
    ])
    .meta({ description: 'Where the files go.' }),
);
