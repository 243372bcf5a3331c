import { ConnectorError } from '../../../lib/errors.ts';
import { nameText, type TableName } from '../catalog/catalog.ts';
import type { TableMetadata } from '../metadata/table-metadata.ts';
import { requireWritableTypes } from '../schema/new-columns.ts';
import { transformOf } from '../schema/transforms.ts';

const FORMAT = 2;

/** Throws for a table that other programs may write, and this one cannot. */
export function requireWritable(metadata: TableMetadata, name: TableName): void {
  const table = nameText(name);
  if (metadata.formatVersion !== FORMAT)
    throw new ConnectorError(
      'refused',
      `the table ${table} has version ${metadata.formatVersion} of the format, which is only read`,
      { hint: 'have it brought to version 2 (the table property `format-version`)' },
    );
  const { 'write.format.default': format = 'parquet' } = metadata.properties;
  if (format.toLowerCase() !== 'parquet')
    throw new ConnectorError('refused', `the table ${table} is written in the format ${format}`, {
      hint: 'set its property `write.format.default` to `parquet`',
    });
  requireWritableTypes(metadata.schema.fields, table);
  for (const { sourceId, transform, name: field } of metadata.defaultSpec.fields) {
    if (transform === 'void') continue;
    const source = metadata.schema.fields.find(({ id }) => id === sourceId);
    if (source === undefined)
      throw new ConnectorError(
        'refused',
        `the table ${table} is partitioned by \`${field}\`, whose column is none at its top`,
        { hint: 'have it written by another program' },
      );
    transformOf(transform, source.type, table);
  }
}
