/** What a package exports is looked at before anything is done with it. */
import { KIT_VERSION, type Connector } from '../kit/connector.ts';
import type { PartFault } from '../kit/part-packages.ts';

export type CheckedConnector =
  | { readonly ok: true; readonly connector: Connector }
  | { readonly ok: false; readonly fault: PartFault };

type Shape = Readonly<Record<string, 'function' | 'string' | 'object'>>;

const DEFINITION: Shape = {
  type: 'string',
  description: 'string',
  config: 'object',
  examples: 'object',
  capabilities: 'function',
  datasetUri: 'function',
  open: 'function',
};

/** `where` is how messages call the package. */
export function checkConnector(exported: unknown, where: string): CheckedConnector {
  const connector = memberOf(exported, 'connector');
  if (memberOf(connector, 'role') !== 'connector')
    return unusable(
      `${where} exports no \`connector\``,
      'its main module has to export `connector = defineConnector({ kit: 1, … })`',
    );
  const kit = memberOf(connector, 'kit');
  if (kit !== KIT_VERSION) return otherKit(where, kit);
  const roles = (['source', 'sink'] as const).filter(
    (role) => memberOf(connector, role) !== undefined,
  );
  if (roles.length === 0)
    return unusable(
      `the connector of ${where} has neither a source nor a sink`,
      'give `defineConnector` a `source`, a `sink`, or both',
    );
  for (const role of roles) {
    const fault = faultOfDefinition(memberOf(connector, role), role);
    if (fault !== undefined)
      return unusable(
        `the ${role} of ${where} ${fault}`,
        `declare it with \`define${role === 'source' ? 'Source' : 'Sink'}\` of \`headgate/kit\``,
      );
  }
  // All members that anybody reads were looked at.
  return { ok: true, connector: connector as Connector };
}

function faultOfDefinition(definition: unknown, role: string): string | undefined {
  if (memberOf(definition, 'role') !== role) return `is not one: its \`role\` is not \`${role}\``;
  for (const [name, type] of Object.entries(DEFINITION)) {
    const value = memberOf(definition, name);
    if (typeof value !== type || value === null) return `has no \`${name}\` (a ${type})`;
  }
  if (memberOf(memberOf(definition, 'config'), '_zod') === undefined)
    return 'has a `config` that is no schema: make it with `z` of `headgate/kit`';
  return Array.isArray(memberOf(definition, 'examples'))
    ? undefined
    : 'has `examples` that are no list';
}

function otherKit(where: string, kit: unknown): CheckedConnector {
  const isNewer = typeof kit === 'number' && kit > KIT_VERSION;
  return {
    ok: false,
    fault: {
      code: 'connector_kit_version',
      message: `the connector of ${where} was written for version ${JSON.stringify(kit) ?? 'unknown'} of \`headgate/kit\`; this program has version ${KIT_VERSION}`,
      hint: isNewer
        ? 'update Headgate, or install an older version of the package'
        : 'install a newer version of the package',
    },
  };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

export function unusable(message: string, hint: string): { ok: false; fault: PartFault } {
  return { ok: false, fault: { code: 'connector_unusable', message, hint } };
}
