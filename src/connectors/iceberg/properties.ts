/** `properties` of a catalog: which there are, and what is wrong with those that are given. */
import { storageFault, storageFaults, STORAGE_NAMES } from './storage-properties.ts';

type CatalogType = 'rest' | 'sql' | 'file' | 'glue' | 'hms';

/** Name of the catalog in its database, under which it keeps its tables. */
export const CATALOG_NAME = 'catalog-name';
export const TOKEN = 'token';
export const TOKEN_URI = 'oauth2-server-uri';
export const SCOPE = 'scope';
export const HEADER = 'header.';
/** What a catalog adds to the name of a namespace. */
const OF_TYPE: Readonly<Record<CatalogType, readonly string[]>> = {
  rest: [TOKEN, TOKEN_URI, SCOPE, 'prefix', `${HEADER}NAME`],
  sql: [CATALOG_NAME],
  file: [],
  glue: [],
  hms: [],
};

interface PropertyFault {
  readonly path: string;
  readonly message: string;
  readonly hint: string;
}

export function propertyFaults(
  type: CatalogType,
  given: Readonly<Record<string, string>>,
): readonly PropertyFault[] {
  const known = [...OF_TYPE[type], ...STORAGE_NAMES];
  const faults = Object.entries(given).flatMap(([name, value]): PropertyFault[] => {
    const isHeader = type === 'rest' && name.startsWith(HEADER) && name.length > HEADER.length;
    if (!isHeader && !known.includes(name))
      return [
        {
          path: name,
          message: `a catalog of type \`${type}\` has no such property`,
          hint: `known are ${known.map((one) => `\`${one}\``).join(', ')}`,
        },
      ];
    const fault = storageFault(name, value);
    return fault === undefined ? [] : [{ path: name, message: fault, hint: 'write one of them' }];
  });
  const keys = storageFaults(given).map(({ name, message, hint }) => ({
    path: name,
    message,
    hint,
  }));
  return [...faults, ...keys];
}
