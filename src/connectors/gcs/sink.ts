import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { defineSink } from '../../kit/sink.ts';
import { gcsAddress, gcsFields, openGcsBucket } from '../_objects/gcs-place.ts';
import { sinkOfObjects } from '../_objects/object-sink.ts';
import { checkWriting, writingFields } from '../_objects/sink-fields.ts';
import { prefixField } from '../_objects/source-fields.ts';

const fields = z.lazy(() => {
  const { concurrency, ...writing } = writingFields();
  return z.strictObject({
    ...gcsFields(),
    prefix: prefixField('What the names start with.'),
    ...writing,
    concurrency: concurrency.meta({
      description: 'Accepted for uniformity: an object takes one part after the other.',
    }),
  });
});

const config = z.lazy(() => otherName('file_format', 'format', fields.superRefine(checkWriting)));

export type GcsSinkConfig = z.output<typeof fields>;

export const gcsSink = defineSink<GcsSinkConfig>({
  type: 'gcs',
  aliases: ['object_store_b'],
  description:
    'Writes objects of Google Cloud Storage, in all formats of files; they appear whole, when the run has succeeded.',
  config,
  examples: [
    { bucket: 'lake', prefix: 'orders/' },
    { bucket: 'lake', prefix: 'orders/', format: 'parquet', max_records_per_file: 1_000_000 },
    {
      bucket: 'exports',
      path: 'daily/orders.csv.gz',
      format: 'csv',
      storage_host: 'http://localhost:4443',
      write_mode: 'overwrite',
    },
  ],
  ...sinkOfObjects<GcsSinkConfig>({ openStore: openGcsBucket, address: gcsAddress }),
});
