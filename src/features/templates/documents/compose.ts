/** A source template and a sink template become one pipeline document. */
import type { Parts } from '../../../kit/parts.ts';
import { check } from '../../../kit/schema.ts';
import type { SinkDefinition, WriteMode } from '../../../kit/sink.ts';
import { ConfigError, type Issue } from '../../../lib/errors.ts';
import {
  hasField,
  isObject,
  jsonEqual,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { applyOverlay, type Overlay } from './overlay.ts';
import { idOf, type DocumentOf } from './read.ts';
import type { Stream } from './kinds.ts';
import {
  isFault,
  planStream,
  type SinkModes,
  type StreamFault,
  type StreamPlan,
} from './write-modes.ts';

export interface Composed {
  readonly document: JsonObject;
  readonly streams: readonly StreamPlan[];
  /** Paths of the composed document that the overlay set. */
  readonly contributes: readonly string[];
  readonly warnings: readonly string[];
}

export interface ComposeRequest {
  readonly source: DocumentOf<'source-template'>;
  readonly sink: DocumentOf<'sink-template'>;
  readonly overlay?: Overlay;
}

/** Throws `ConfigError` with every stream that does not fit, or with the faults of the overlay. */
export function compose({ source, sink, overlay }: ComposeRequest, parts: Parts): Composed {
  const modes = sinkModes(sink, parts);
  const { plans, faults } = planStreams(source, modes);
  if (faults.length > 0) throw new ConfigError(faults.map(faultOf));
  const { template } = source;
  const { pipeline, rows } = bodyOf(source, sink, { plans, modes });
  const document: JsonObject = {
    version: 1,
    name: idOf(template),
    params: union('params', [
      source,
      sink,
      ...(overlay?.document === undefined ? [] : [overlay.document]),
    ]),
    auth: union('auth', [source, sink]),
    pipeline,
    matrix: rows,
  };
  const applied =
    overlay === undefined
      ? { document, contributes: [] }
      : applyOverlay(document, overlay, template);
  return {
    ...applied,
    streams: plans,
    warnings: stateWarnings(template.streams, applied.document),
  };
}

function faultOf({ stream, reason }: StreamFault): Issue {
  return {
    code: 'write_mode_unsupported',
    path: `streams.${stream}`,
    message: reason,
    hint: 'choose another sink template, or another `write` of the stream',
  };
}

export interface PlannedStreams {
  readonly plans: readonly StreamPlan[];
  readonly faults: readonly StreamFault[];
}

export function planStreams(
  { template }: DocumentOf<'source-template'>,
  modes: SinkModes,
): PlannedStreams {
  const planned = template.streams.map((stream) => planStream(stream, modes));
  return {
    plans: planned.filter((one): one is StreamPlan => !isFault(one)),
    faults: planned.filter(isFault),
  };
}

/** Throws `ConfigError` for an unknown sink, and for aliases that make no sense with it. */
export function sinkModes(
  { template: sink }: DocumentOf<'sink-template'>,
  parts: Parts,
): SinkModes {
  const definition = parts.sinks.get(sink.sink.type);
  if (definition === undefined)
    throw new ConfigError([
      {
        code: 'unknown_type',
        path: 'sink.type',
        message: `there is no sink called \`${sink.sink.type}\``,
        ...hintOf(parts.sinks.suggest(sink.sink.type)),
      },
    ]);
  const config = { ...sink.sink.config, ...sink.per_stream };
  const native = nativeModes(definition, config);
  const aliases = sink.write_mode_aliases;
  const issues = Object.entries(aliases).flatMap(([mode, alias]) =>
    aliasFaults(native, mode as WriteMode, alias),
  );
  if (issues.length > 0) throw new ConfigError(issues);
  return { kind: definition.type, native, aliases };
}

function hintOf(hint: string | undefined): { readonly hint?: string } {
  return hint === undefined ? {} : { hint };
}

function aliasFaults(
  native: readonly WriteMode[],
  mode: WriteMode,
  alias: WriteMode | undefined,
): Issue[] {
  const path = `write_mode_aliases.${mode}`;
  if (native.includes(mode))
    return [
      {
        code: 'without_effect',
        path,
        message: `the sink has \`${mode}\` itself`,
        hint: 'leave it out',
      },
    ];
  if (alias === undefined || native.includes(alias)) return [];
  return [
    {
      code: 'write_mode_unsupported',
      path,
      message: `the sink has no \`${alias}\``,
      hint: `it has ${native.join(', ')}`,
    },
  ];
}

/**
 * Those of this config; where its tokens keep it from being read, those that the kind of sink can
 * have.
 */
function nativeModes(definition: SinkDefinition, config: JsonObject): readonly WriteMode[] {
  const modesOf = (given: JsonObject): readonly WriteMode[] => {
    const read = check(definition.config, given);
    return read.ok ? definition.capabilities(read.value).writeModes : [];
  };
  const own = modesOf(config);
  return own.length > 0 ? own : [...new Set(definition.examples.flatMap(modesOf))];
}

function bodyOf(
  { template: source }: DocumentOf<'source-template'>,
  { template: sink }: DocumentOf<'sink-template'>,
  { plans, modes }: { readonly plans: readonly StreamPlan[]; readonly modes: SinkModes },
): { readonly pipeline: JsonObject; readonly rows: JsonValue[] } {
  const pipeline: JsonObject = {
    sources: { default: { ...source.source }, ...source.sources },
    sinks: { default: { ...sink.sink } },
    ...(source.transforms.length === 0 ? {} : { transforms: source.transforms }),
    ...(source.contract === undefined ? {} : { contract: source.contract }),
  };
  const rows = source.streams.map((stream, index) => {
    const plan = plans[index];
    const tokens = { stream: stream.name, source: source.name, owner: source.owner ?? '' };
    const config: JsonObject = {
      ...(render(sink.per_stream, tokens) as JsonObject),
      ...(modes.native.length > 1 && plan !== undefined ? { write_mode: plan.chosen } : {}),
      ...(plan === undefined || plan.key.length === 0 ? {} : { key: [...plan.key] }),
    };
    return rowOf(stream, config);
  });
  return { pipeline, rows };
}

function rowOf(stream: Stream, sinkConfig: JsonObject): JsonObject {
  const { name, source, transforms, parent, parent_key, inherit_transforms } = stream;
  return {
    id: name,
    ...(parent === undefined ? {} : { parent }),
    ...(parent_key === undefined ? {} : { parent_key }),
    ...(inherit_transforms ? {} : { inherit_transforms: false }),
    source: {
      ref: source.ref,
      ...(Object.keys(source.config).length === 0 ? {} : { config: source.config }),
    },
    sink: { ref: 'default', config: sinkConfig },
    ...(transforms.length === 0 ? {} : { transforms }),
  };
}

type StreamTokens = Readonly<Record<'stream' | 'source' | 'owner', string>>;

/** Fills `${stream}`, `${source}` and `${owner}` in, at any depth; other tokens stay. */
function render(value: JsonValue, tokens: StreamTokens): JsonValue {
  if (typeof value === 'string')
    return value.replaceAll(
      /\$\{(stream|source|owner)\}/g,
      (_, name: keyof StreamTokens) => tokens[name],
    );
  if (Array.isArray(value)) return value.map((item) => render(item, tokens));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, render(item, tokens)]),
  );
}

/** What both documents declare; one name with two meanings is refused. */
function union(
  key: 'params' | 'auth',
  documents: readonly {
    readonly tree: JsonObject;
    readonly template: { readonly name: string; readonly owner?: string | undefined };
  }[],
): JsonObject {
  const merged: JsonObject = {};
  const owners = new Map<string, string>();
  for (const { tree, template } of documents) {
    const given = tree[key];
    for (const [name, value] of Object.entries(isObject(given) ? given : {})) {
      if (hasField(merged, name) && !jsonEqual(merged[name], value))
        throw new ConfigError([
          {
            code: 'duplicate_name',
            path: `${key}.${name}`,
            message: `\`${name}\` means one thing in \`${owners.get(name)}\` and another in \`${idOf(template)}\``,
            hint: 'rename one of them, or make both the same',
          },
        ]);
      setField(merged, name, value);
      owners.set(name, idOf(template));
    }
  }
  return merged;
}

/** Incremental streams that would begin at the beginning every time. */
function stateWarnings(streams: readonly Stream[], { pipeline, matrix }: JsonObject): string[] {
  const sources = isObject(pipeline) ? pipeline['sources'] : undefined;
  const incremental = streams.filter(({ source }) => {
    const preset = isObject(sources) ? sources[source.ref] : undefined;
    const config = isObject(preset) ? preset['config'] : undefined;
    return isIncremental({ ...(isObject(config) ? config : {}), ...source.config });
  });
  if (incremental.length === 0 || matrix === undefined) return [];
  const names = incremental.map(({ name }) => `\`${name}\``).join(', ');
  const state = isObject(pipeline) ? pipeline['state'] : undefined;
  if (!isObject(state))
    return [
      `${names}: incremental, and no \`state\` keeps how far they were read; set one in an overlay`,
    ];
  return state['type'] === 'memory'
    ? [
        `${names}: incremental, and the \`memory\` state forgets with the process how far they were read`,
      ]
    : [];
}

function isIncremental({ replication_method: method }: JsonObject): boolean {
  const name = isObject(method) ? method['type'] : method;
  return typeof name === 'string' && name.toLowerCase() === 'incremental';
}
