import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { defineSink } from '../../kit/sink.ts';
import { sinkOfObjects } from '../_objects/object-sink.ts';
import { checkWriting, writingFields } from '../_objects/sink-fields.ts';
import { prefixField } from '../_objects/source-fields.ts';
import { openBucket, s3Address, s3Fields } from '../_objects/s3-place.ts';

const fields = z.lazy(() =>
  z.strictObject({
    ...s3Fields(),
    prefix: prefixField('What the keys start with.'),
    ...writingFields(),
  }),
);

const config = z.lazy(() => otherName('file_format', 'format', fields.superRefine(checkWriting)));

export type S3SinkConfig = z.output<typeof fields>;

export const s3Sink = defineSink<S3SinkConfig>({
  type: 's3',
  aliases: ['object_store_a'],
  description:
    'Writes objects of Amazon S3 and compatible stores, in all formats of files; they appear whole, when the run has succeeded.',
  config,
  examples: [
    { bucket: 'lake', prefix: 'orders/' },
    { bucket: 'lake', prefix: 'orders/', format: 'parquet', max_records_per_file: 1_000_000 },
    {
      bucket: 'exports',
      path: 'daily/orders.csv.gz',
      format: 'csv',
      endpoint_url: 'http://minio.example.com:9000',
      write_mode: 'overwrite',
    },
  ],
  ...sinkOfObjects<S3SinkConfig>({ openStore: openBucket, address: s3Address }),
});
