/** REST catalogs of Amazon: AWS Glue, S3 Tables, and whatever else wants signed requests. */
import type { PartContext } from '../../../kit/context.ts';
import type { AwsKeys } from '../../../lib/aws/client-settings.ts';
import type { Signing } from '../../../lib/aws/signed-fetch.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { CatalogConfig } from '../config.ts';
import { GLUE_ID, isSigned, REGION, SIGNED, SIGNING, SIGNING_NAME } from '../properties.ts';
import { firstOf, type StorageProperties } from '../storage-properties.ts';

/** As other programs have it: the signature of API Gateway. */
const USUAL_SERVICE = 'execute-api';
const GLUE = 'glue';

/** The REST catalog that stands for one of type `glue`. */
export function glueAsRest(config: CatalogConfig, { env }: PartContext): CatalogConfig {
  const { uri, warehouse: _, ...rest } = config;
  const properties: StorageProperties = {
    [SIGNING_NAME]: GLUE,
    ...config.properties,
    [SIGNED]: 'true',
  };
  const region = regionOf(properties, uri, env.variables);
  const domain = region?.startsWith('cn-') === true ? 'amazonaws.com.cn' : 'amazonaws.com';
  if (uri === undefined && region === undefined) throw noRegion();
  return {
    ...rest,
    type: 'rest',
    uri: uri ?? `https://glue.${region}.${domain}/iceberg`,
    ...(properties[GLUE_ID] === undefined ? {} : { warehouse: properties[GLUE_ID] }),
    properties,
  };
}

/** How requests to the catalog are signed; `undefined` where they are not. */
export function signingOf(
  { uri = '', properties = {} }: CatalogConfig,
  { env }: PartContext,
): Signing | undefined {
  if (!isSigned(properties)) return undefined;
  const region = regionOf(properties, uri, env.variables);
  if (region === undefined) throw noRegion();
  return {
    service: properties[SIGNING_NAME] ?? USUAL_SERVICE,
    region,
    keys: keysOf(properties, env),
    origin: new URL(uri).origin,
  };
}

function keysOf(
  properties: StorageProperties,
  { redactor }: PartContext['env'],
): AwsKeys | undefined {
  const [id, secret] = [firstOf(properties, SIGNING.id), firstOf(properties, SIGNING.secret)];
  const token = firstOf(properties, SIGNING.token);
  for (const one of [secret, token]) if (one !== undefined) redactor.register(one);
  if (id === undefined || secret === undefined) return undefined;
  return { accessKeyId: id, secretAccessKey: secret, sessionToken: token };
}

/** As the document says, as the address says, or as the clients of Amazon find it. */
function regionOf(
  properties: StorageProperties,
  uri: string | undefined,
  variables: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const host = URL.parse(uri ?? '')?.hostname ?? '';
  return (
    firstOf(properties, SIGNING.region) ??
    /^[\w-]+\.([\w-]+)\.(?:api\.aws|amazonaws\.com(?:\.cn)?)$/.exec(host)?.[1] ??
    firstOf(variables, ['AWS_REGION', 'AWS_DEFAULT_REGION'])
  );
}

function noRegion(): ConnectorError {
  return new ConnectorError('refused', 'it is not said in which region the catalog is', {
    hint: `set \`${REGION}\` among the properties of the catalog, or AWS_REGION`,
  });
}
