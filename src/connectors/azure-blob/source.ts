import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { boolean, finding } from '../../kit/schema.ts';
import { defineSource } from '../../kit/source.ts';
import {
  azureAddress,
  azureFields,
  checkPlace,
  openAzureContainer,
} from '../_objects/azure-place.ts';
import { sourceOfObjects } from '../_objects/object-source.ts';
import {
  checkReading,
  prefixField,
  readingFields,
  verifyLength,
} from '../_objects/source-fields.ts';

const fields = z.lazy(() =>
  z
    .strictObject({
      ...azureFields(),
      prefix: prefixField(
        'What the names start with; every object when absent. `{field}` stands for a value of the parent record.',
      ),
      ...readingFields(),
      verify_length: verifyLength(),
      verify_checksum: boolean().default(false).meta({
        description: 'Only `false`: the store has no checksum of what is read.',
      }),
    })
    .superRefine((value, ctx) => {
      checkPlace(value, ctx);
      checkReading(value, ctx);
      if (value.verify_checksum)
        ctx.addIssue(
          finding('not_available', 'the store has no checksum to compare objects with', {
            path: ['verify_checksum'],
            hint: 'remove it; `verify_length` counts the bytes',
          }),
        );
    }),
);

const config = z.lazy(() => otherName('format', 'file_format', fields));

export type AzureBlobSourceConfig = z.output<typeof fields>;

export const azureBlobSource = defineSource<AzureBlobSourceConfig>({
  type: 'azure-blob',
  aliases: ['object_store_c'],
  description: 'Reads objects of Azure Blob Storage, in all formats of files.',
  config,
  examples: [
    { container: 'landing', account: 'acme', prefix: 'orders/2026/' },
    {
      container: 'landing',
      account: 'acme',
      auth: { type: 'sas_token', config: { sas_token: 'sv=2026-02-06&sp=rl&sig=abc' } },
      object_keys: ['in/a.csv', 'in/b.csv'],
      file_format: 'csv',
    },
    {
      container: 'lake',
      use_emulator: true,
      prefix: 'events/',
      file_format: 'parquet',
      parquet: { columns: ['id', 'at'] },
    },
    { container: 'drop', account: 'acme', file_format: 'auto', incremental: { by: 'mtime' } },
  ],
  datasetUri: (value) => azureAddress(value, value.prefix),
  ...sourceOfObjects<AzureBlobSourceConfig>({
    openStore: openAzureContainer,
    // Keys are whole names, and no prefix stands before them.
    patchForKey: (key, { prefix }) => ({
      object_keys: [key],
      ...(prefix === '' ? {} : { prefix: null }),
    }),
  }),
});
