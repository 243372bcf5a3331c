/** `properties` of a catalog: which there are, and what is wrong with those that are given. */
import type { Doubt } from '../../kit/source.ts';
import { nearest } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import {
  CLIENT,
  keyFaults,
  storageFault,
  storageFaults,
  STORAGE_NAMES,
  switchFault,
} from './storage-properties.ts';

type CatalogType = 'rest' | 'sql' | 'file' | 'glue' | 'hms';

/** Name of the catalog in its database, under which it keeps its tables. */
export const CATALOG_NAME = 'catalog-name';
export const TOKEN = 'token';
export const TOKEN_URI = 'oauth2-server-uri';
export const SCOPE = 'scope';
export const HEADER = 'header.';
/** Whether requests are signed as Amazon's services want it. */
export const SIGNED = 'rest.sigv4-enabled';
export const SIGNING_NAME = 'rest.signing-name';
export const REGION = 'client.region';
/** The account whose catalog is asked, or a catalog in it. */
export const GLUE_ID = 'glue.id';
/** Who signs; the first name that is given counts. */
export const SIGNING = {
  id: ['rest.access-key-id', 'glue.access-key-id', ...CLIENT.id],
  secret: ['rest.secret-access-key', 'glue.secret-access-key', ...CLIENT.secret],
  token: ['rest.session-token', 'glue.session-token', ...CLIENT.token],
  region: ['rest.signing-region', 'glue.region', ...CLIENT.region],
} as const;

const OF_SIGNING: readonly string[] = [SIGNING_NAME, ...Object.values(SIGNING).flat()];
const OF_LOGIN: readonly string[] = [TOKEN, TOKEN_URI, SCOPE];
const OF_TYPE: Readonly<Record<CatalogType, readonly string[]>> = {
  rest: ['prefix', `${HEADER}NAME`, SIGNED],
  sql: [CATALOG_NAME],
  file: [],
  glue: [GLUE_ID, 'prefix', `${HEADER}NAME`, ...OF_SIGNING],
  hms: [],
};

type Properties = Readonly<Record<string, string>>;

interface PropertyFault {
  readonly path: string;
  readonly message: string;
  readonly hint: string;
}

export function propertyFaults(type: CatalogType, given: Properties): readonly PropertyFault[] {
  const faults = Object.entries(given).flatMap(([name, value]): PropertyFault[] => {
    const names = namesOf(type, given);
    const meant = isKnown(type, name, given) ? undefined : nearest(name, names);
    if (meant !== undefined)
      return [
        {
          path: name,
          message: `a catalog of type \`${type}\` has no such property`,
          hint: `did you mean \`${meant}\`?`,
        },
      ];
    const fault = name === SIGNED ? switchFault(value) : storageFault(name, value);
    return fault === undefined ? [] : [{ path: name, message: fault, hint: 'write one of them' }];
  });
  const signs = type === 'glue' || (type === 'rest' && isSigned(given));
  const halves = [...storageFaults(given), ...(signs ? keyFaults(given, SIGNING) : [])];
  const keys = halves.map(({ name, message, hint }) => ({ path: name, message, hint }));
  return [...faults, ...new Map(keys.map((one) => [one.path, one])).values()];
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
    readonly properties?: Properties | undefined;
  };
}): readonly Doubt[] {
  return Object.keys(properties)
    .filter((name) => !isKnown(type, name, properties))
    .map((name) => ({
      code: 'without_effect',
      path: joinPath('catalog.properties', name),
      message: `a catalog of type \`${type}\` has no use for \`${name}\``,
      hint: `remove it; what has an effect is ${namesOf(type, properties).join(', ')}`,
    }));
}

/** A request is signed, or has another login. */
function namesOf(type: CatalogType, given: Properties): readonly string[] {
  const login = type !== 'rest' ? [] : isSigned(given) ? OF_SIGNING : OF_LOGIN;
  return [...new Set([...login, ...OF_TYPE[type], ...STORAGE_NAMES])];
}

function isKnown(type: CatalogType, name: string, given: Properties): boolean {
  const hasHeaders = type === 'rest' || type === 'glue';
  const isHeader = hasHeaders && name.startsWith(HEADER) && name.length > HEADER.length;
  return isHeader || namesOf(type, given).includes(name);
}

export function isSigned(given: Properties): boolean {
  return given[SIGNED]?.toLowerCase() === 'true';
}
