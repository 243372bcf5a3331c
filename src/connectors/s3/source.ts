import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { defineSource } from '../../kit/source.ts';
import { sourceOfObjects } from '../_objects/object-source.ts';
import {
  checkReading,
  prefixField,
  readingFields,
  verifyChecksum,
  verifyLength,
} from '../_objects/source-fields.ts';
import { openBucket, s3Address, s3Fields } from '../_objects/s3-place.ts';

const fields = z.lazy(() =>
  z.strictObject({
    ...s3Fields(),
    prefix: prefixField(
      'What the keys start with; every object when absent. `{field}` stands for a value of the parent record.',
    ),
    ...readingFields(),
    verify_length: verifyLength(),
    verify_checksum: verifyChecksum(),
  }),
);

const config = z.lazy(() => otherName('format', 'file_format', fields.superRefine(checkReading)));

export type S3SourceConfig = z.output<typeof fields>;

export const s3Source = defineSource<S3SourceConfig>({
  type: 's3',
  aliases: ['object_store_a'],
  description: 'Reads objects of Amazon S3 and compatible stores, in all formats of files.',
  config,
  examples: [
    { bucket: 'landing', prefix: 'orders/2026/' },
    { bucket: 'landing', prefix: 'in/', pattern: '*.csv.gz', file_format: 'csv' },
    {
      bucket: 'lake',
      prefix: 'events/',
      file_format: 'parquet',
      endpoint_url: 'http://minio.example.com:9000',
      parquet: { columns: ['id', 'at'] },
    },
    { bucket: 'drop', file_format: 'auto', incremental: { by: 'mtime' }, verify_checksum: true },
  ],
  datasetUri: (value) => s3Address(value, value.prefix),
  ...sourceOfObjects<S3SourceConfig>({
    openStore: openBucket,
    patchForKey: (key) => ({ prefix: key }),
  }),
});
