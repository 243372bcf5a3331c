/** `properties` of a catalog: which there are, and what is wrong with those that are given. */
import type { Doubt } from '../../kit/source.ts';
import { nearest } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
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
  const faults = Object.entries(given).flatMap(([name, value]): PropertyFault[] => {
    const meant = isKnown(type, name) ? undefined : nearest(name, namesOf(type));
    if (meant !== undefined)
      return [
        {
          path: name,
          message: `a catalog of type \`${type}\` has no such property`,
          hint: `did you mean \`${meant}\`?`,
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

/**
 * Properties for other programs, which documents from elsewhere have. One that is nearly the name
 * of ours is a mistake.
 */
export function propertyDoubts({
  catalog: { type, properties = {} },
}: {
  readonly catalog: {
    readonly type: CatalogType;
    readonly properties?: Readonly<Record<string, string>> | undefined;
  };
}): readonly Doubt[] {
  return Object.keys(properties)
    .filter((name) => !isKnown(type, name))
    .map((name) => ({
      code: 'without_effect',
      path: joinPath('catalog.properties', name),
      message: `a catalog of type \`${type}\` has no use for \`${name}\``,
      hint: `remove it; what has an effect is ${namesOf(type).join(', ')}`,
    }));
}

function namesOf(type: CatalogType): readonly string[] {
  return [...OF_TYPE[type], ...STORAGE_NAMES];
}

function isKnown(type: CatalogType, name: string): boolean {
  const isHeader = type === 'rest' && name.startsWith(HEADER) && name.length > HEADER.length;
  return isHeader || namesOf(type).includes(name);
}
