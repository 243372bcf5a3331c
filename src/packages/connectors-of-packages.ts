/** The connectors of packages, as parts that a document names by `npm:` and the package. */
import type { Connector } from '../kit/connector.ts';
import type { FoundDefinition, PartFault, PartPackages } from '../kit/part-packages.ts';
import type { ReadBack, SinkDefinition } from '../kit/sink.ts';
import type { SourceDefinition } from '../kit/source.ts';
import type { CheckedConnector } from './check-connector.ts';
import { loadConnector, placesOf } from './load-connector.ts';

/** `names` are the packages that documents may name; each is loaded when one does. */
export function connectorsOfPackages(names: readonly string[], cwd: string): PartPackages {
  const places = placesOf(cwd);
  const loaded = new Map<string, CheckedConnector>();
  const connectorOf = (name: string): CheckedConnector => {
    let found = loaded.get(name);
    if (found === undefined) loaded.set(name, (found = loadConnector(name, places)));
    return found;
  };
  return Object.freeze({
    sources: {
      names,
      find: definitionsOf(connectorOf, 'source', sourceOf),
    },
    sinks: {
      names,
      find: definitionsOf(connectorOf, 'sink', sinkOf),
    },
  });
}

/** Definitions are made once: plans compare them. */
function definitionsOf<D>(
  connectorOf: (name: string) => CheckedConnector,
  role: 'source' | 'sink',
  definitionOf: (connector: Connector, type: string) => D | undefined,
): (name: string) => FoundDefinition<D> {
  const known = new Map<string, FoundDefinition<D>>();
  const find = (name: string): FoundDefinition<D> => {
    const checked = connectorOf(name);
    if (!checked.ok) return checked;
    const definition = definitionOf(checked.connector, typeOf(name));
    return definition === undefined
      ? { ok: false, fault: otherRole(name, role) }
      : { ok: true, definition };
  };
  return (name) => {
    let found = known.get(name);
    if (found === undefined) known.set(name, (found = find(name)));
    return found;
  };
}

function typeOf(name: string): string {
  return `npm:${name}`;
}

function sourceOf({ source }: Connector, type: string): SourceDefinition | undefined {
  return source === undefined ? undefined : Object.freeze({ ...source, type, aliases: [] });
}

/** What is written is read back by the source of the same package, under the name of documents. */
function sinkOf({ sink, source }: Connector, type: string): SinkDefinition | undefined {
  if (sink === undefined) return undefined;
  const readBack = (config: unknown): ReadBack | undefined => {
    const back = sink.readBack?.(config);
    return back !== undefined && back.type === source?.type ? { ...back, type } : back;
  };
  return Object.freeze({
    ...sink,
    type,
    aliases: [],
    ...(sink.readBack === undefined ? {} : { readBack }),
  });
}

function otherRole(name: string, role: 'source' | 'sink'): PartFault {
  const other = role === 'source' ? 'sink' : 'source';
  return {
    code: 'unknown_type',
    message: `the package \`${name}\` has no ${role}, only a ${other}`,
    hint: `use \`npm:${name}\` as a ${other}`,
  };
}
