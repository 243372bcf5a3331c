import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { defineSource } from '../../kit/source.ts';
import { gcsAddress, gcsFields, openGcsBucket } from '../_objects/gcs-place.ts';
import { sourceOfObjects } from '../_objects/object-source.ts';
import {
  checkReading,
  prefixField,
  readingFields,
  verifyChecksum,
  verifyLength,
} from '../_objects/source-fields.ts';

const fields = z.lazy(() =>
  z.strictObject({
    ...gcsFields(),
    prefix: prefixField(
      'What the names start with; every object when absent. `{field}` stands for a value of the parent record.',
    ),
    ...readingFields(),
    verify_length: verifyLength(),
    verify_checksum: verifyChecksum(),
  }),
);

const config = z.lazy(() => otherName('format', 'file_format', fields.superRefine(checkReading)));

export type GcsSourceConfig = z.output<typeof fields>;

export const gcsSource = defineSource<GcsSourceConfig>({
  type: 'gcs',
  aliases: ['object_store_b'],
  description: 'Reads objects of Google Cloud Storage, in all formats of files.',
  config,
  examples: [
    { bucket: 'landing', prefix: 'orders/2026/' },
    {
      bucket: 'landing',
      object_keys: ['in/a.csv', 'in/b.csv'],
      file_format: 'csv',
      auth: { type: 'service_account_json_file', config: { path: 'keys/loader.json' } },
    },
    {
      bucket: 'lake',
      prefix: 'events/',
      file_format: 'parquet',
      storage_host: 'http://localhost:4443',
      parquet: { columns: ['id', 'at'] },
    },
    { bucket: 'drop', file_format: 'auto', incremental: { by: 'mtime' }, verify_checksum: true },
  ],
  datasetUri: (value) => gcsAddress(value, value.prefix),
  ...sourceOfObjects<GcsSourceConfig>({
    openStore: openGcsBucket,
    // Keys are whole names, and no prefix stands before them.
    patchForKey: (key, { prefix }) => ({
      object_keys: [key],
      ...(prefix === '' ? {} : { prefix: null }),
    }),
  }),
});
