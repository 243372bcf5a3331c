import type { SourceContext } from '../../kit/context.ts';
import type { Discovered } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, jsonText, type JsonObject } from '../../lib/text/json.ts';
import { joinUrl } from '../_http/url.ts';
import { elementsAt } from '../../lib/xml/xml-document.ts';
import { xmlBody } from '../_http/xml-body.ts';
import type { RestConfig } from './config/config.ts';
import { setUp } from './request/setup.ts';

/** The entity sets of an OData service, from its `$metadata`. */
export async function discoverEntities(
  config: RestConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  if (config.odata === undefined) {
    throw new ConnectorError('refused', 'only OData services list their data sets', {
      hint: 'set `odata: {}` to discover one',
    });
  }
  const setup = await setUp(config, context);
  try {
    const url = joinUrl(joinUrl(config.base_url, config.path), '$metadata');
    const headers = { ...config.headers, accept: 'application/xml' };
    const document = await setup.client.read({ method: 'GET', url, headers }, ({ bytes }) =>
      xmlBody(bytes, 'the metadata of the service'),
    );
    const types = new Map(
      elementsAt(document, 'Schema.EntityType')
        .filter(isObject)
        .map((type) => [attribute(type, '@Name'), type]),
    );
    return elementsAt(document, 'EntityContainer.EntitySet')
      .filter(isObject)
      .map((set) => describeSet(set, types));
  } finally {
    await setup.connections.close();
  }
}

function describeSet(set: JsonObject, types: ReadonlyMap<string, JsonObject>): Discovered {
  const name = attribute(set, '@Name');
  const type = types.get(attribute(set, '@EntityType').split('.').at(-1) ?? '');
  const properties =
    type === undefined
      ? []
      : elementsAt({ Property: type['Property'] ?? [] }, 'Property').filter(isObject);
  const fields = properties.map(
    (property) =>
      [attribute(property, '@Name'), { type: jsonType(attribute(property, '@Type')) }] as const,
  );
  return {
    name,
    kind: 'entity_set',
    ...(fields.length === 0
      ? {}
      : { schema: { type: 'object', properties: Object.fromEntries(fields) } }),
    config_patch: { odata: { entity: name } },
  };
}

function jsonType(edm: string): string {
  if (/^Edm\.(Byte|SByte|Int16|Int32|Int64)$/.test(edm)) return 'integer';
  if (/^Edm\.(Decimal|Double|Single)$/.test(edm)) return 'number';
  if (edm === 'Edm.Boolean') return 'boolean';
  if (edm.startsWith('Collection(')) return 'array';
  return edm.startsWith('Edm.') ? 'string' : 'object';
}

function attribute(element: JsonObject, name: string): string {
  return jsonText(element[name] ?? '');
}
