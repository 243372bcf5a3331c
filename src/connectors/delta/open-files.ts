import { ConnectorError } from '../../lib/errors.ts';
import { resolvePath } from '../_files/paths.ts';
import { openPlace } from '../_objects/places.ts';
import { placeOf, secretsOf, type TableConfig } from './place.ts';
import { LocalFiles } from '../_lake/local-files.ts';
import { ObjectFiles } from '../_lake/object-files.ts';
import type { TableContext, TableFiles } from '../_lake/table-files.ts';

export async function openFiles(config: TableConfig, context: TableContext): Promise<TableFiles> {
  const { place, faults } = placeOf(config);
  if (place === undefined)
    throw new ConnectorError('refused', faults[0]?.message ?? 'there is no such place');
  if (place.type === 'local')
    return new LocalFiles(resolvePath(context.env.cwd, place.path), context.signal);
  const { store: at, prefix } = place;
  for (const secret of secretsOf(config)) context.env.redactor.register(secret);
  const store = await openPlace(at, context);
  const isDoubtful = at.type === 's3' && at.endpoint_url !== undefined;
  return new ObjectFiles({ store, prefix, isDoubtful, context });
}
