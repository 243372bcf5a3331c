/** Which source template can be written by which sink template. */
import type { Parts } from '../../../kit/parts.ts';
import { ConfigError } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { TemplateMatrix } from '../../../wire/templates.ts';
import { planStreams, sinkModes } from './compose.ts';
import type { DocumentOf } from './read.ts';

interface Listed<K extends 'source-template' | 'sink-template'> {
  readonly id: string;
  readonly newest: number | null;
  readonly stable: number | null;
  readonly document: DocumentOf<K>;
}

type Source = Listed<'source-template'>;
type Sink = Listed<'sink-template'>;
type Pair = TemplateMatrix['matrix'][number];

export function matrixOf(
  sources: readonly Source[],
  sinks: readonly Sink[],
  parts: Parts,
): TemplateMatrix {
  const pairs = sources.flatMap((source) => sinks.map((sink) => pairOf(source, sink, parts)));
  return {
    version: 1,
    sources: sources.map((source) => ({
      ...entryOf(source),
      source_type: source.document.template.source.type,
      streams: source.document.template.streams.map(
        ({ name, description = null, write, primary_keys }) => ({
          name,
          description,
          write,
          primary_keys,
        }),
      ),
    })),
    sinks: sinks.map((sink) => ({
      ...entryOf(sink),
      sink_type: sink.document.template.sink.type,
      write_modes: [...modesOf(sink, parts)],
    })),
    matrix: pairs,
  };
}

function entryOf({ id, newest, stable, document }: Source | Sink) {
  const { name, owner = null, description = null, tags, docs = null } = document.template;
  return {
    id,
    owner,
    official: false,
    newest,
    stable,
    name,
    description,
    tags,
    docs,
    file: null,
    params: Object.entries(paramsOf(document.tree)).map(([param, entry]) => ({
      name: param,
      type: typeof entry['type'] === 'string' ? entry['type'] : 'string',
      required: entry['required'] === true,
      secret: entry['secret'] === true,
      description: typeof entry['description'] === 'string' ? entry['description'] : null,
      default: entry['secret'] === true ? null : (entry['default'] ?? null),
    })),
  };
}

function modesOf({ document }: Sink, parts: Parts): TemplateMatrix['sinks'][number]['write_modes'] {
  try {
    return [...sinkModes(document, parts).native];
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}

function pairOf(source: Source, sink: Sink, parts: Parts): Pair {
  const names = { source: source.id, sink: sink.id };
  try {
    const { plans, faults } = planStreams(source.document, sinkModes(sink.document, parts));
    const streams = plans.map(({ stream, chosen, satisfies }) => ({
      stream,
      write_mode: chosen,
      ...(satisfies === undefined ? {} : { satisfies }),
    }));
    return faults.length > 0
      ? { ...names, compatible: false, streams, incompatible: [...faults] }
      : { ...names, compatible: true, streams, command: commandOf(source, sink) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const reason = error.message;
    const incompatible = source.document.template.streams.map(({ name }) => ({
      stream: name,
      reason,
    }));
    return { ...names, compatible: false, streams: [], incompatible };
  }
}

/** Each required parameter has a place in it; secret ones are taken from a variable of the shell. */
function commandOf(source: Source, sink: Sink): string {
  const required = Object.entries({
    ...paramsOf(source.document.tree),
    ...paramsOf(sink.document.tree),
  }).filter(([, entry]) => entry['required'] === true);
  const options = required.map(([name, entry]) =>
    entry['secret'] === true
      ? `--param ${name}="$${name.toUpperCase()}"`
      : `--param ${name}=<${name}>`,
  );
  return ['headgate template run', source.id, '--sink', sink.id, ...options].join(' ');
}

function paramsOf({ params }: JsonObject): Readonly<Record<string, JsonObject>> {
  const entries = Object.entries(isObject(params) ? params : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, JsonObject & JsonValue] => isObject(entry[1])),
  );
}
