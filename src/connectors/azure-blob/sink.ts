import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { defineSink } from '../../kit/sink.ts';
import {
  azureAddress,
  azureFields,
  checkPlace,
  openAzureContainer,
} from '../_objects/azure-place.ts';
import { sinkOfObjects } from '../_objects/object-sink.ts';
import { checkWriting, writingFields } from '../_objects/sink-fields.ts';
import { prefixField } from '../_objects/source-fields.ts';

const fields = z.lazy(() =>
  z
    .strictObject({
      ...azureFields(),
      prefix: prefixField('What the names start with.'),
      ...writingFields(),
    })
    .superRefine((value, ctx) => {
      checkPlace(value, ctx);
      checkWriting(value, ctx);
    }),
);

const config = z.lazy(() => otherName('file_format', 'format', fields));

export type AzureBlobSinkConfig = z.output<typeof fields>;

export const azureBlobSink = defineSink<AzureBlobSinkConfig>({
  type: 'azure-blob',
  aliases: ['object_store_c'],
  description:
    'Writes objects of Azure Blob Storage, in all formats of files; they appear whole, when the run has succeeded.',
  config,
  examples: [
    { container: 'lake', account: 'acme', prefix: 'orders/' },
    {
      container: 'lake',
      auth: {
        type: 'connection_string',
        config: {
          connection_string:
            'DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=a2V5;EndpointSuffix=core.windows.net',
        },
      },
      format: 'parquet',
      max_records_per_file: 1_000_000,
    },
    {
      container: 'exports',
      use_emulator: true,
      path: 'daily/orders.csv.gz',
      format: 'csv',
      write_mode: 'overwrite',
    },
  ],
  ...sinkOfObjects<AzureBlobSinkConfig>({ openStore: openAzureContainer, address: azureAddress }),
});
