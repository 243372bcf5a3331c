/** What of a document is needed to ask its source for data sets: the source, and the logins. */
import type { Document } from '../../document/document.ts';
import type { Parts } from '../../kit/parts.ts';
import { check } from '../../kit/schema.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import { AppError, ConfigError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';

/** Fields that name one data set of a source: whoever asks for all of them names none. */
const DATA_SET_FIELDS: ReadonlySet<string> = new Set([
  'query',
  'table',
  'collection',
  'index',
  'path',
  'prefix',
  'topics',
]);
const ITS_SOURCE = /^pipeline\.source(?![\w-])/;

/**
 * The document with one row, which reads that source: `pipeline.source`, or the preset of this
 * name. What stands elsewhere in the document is not looked at.
 */
export function onlySource(document: Document, parts: Parts, preset: string | undefined): Document {
  const { pipeline, auth } = document.tree;
  const { path, part } = sourceIn(isObject(pipeline) ? pipeline : {}, preset);
  const definition = typeof part['type'] === 'string' ? parts.sources.get(part['type']) : undefined;
  const given = isObject(part['config']) ? part['config'] : {};
  const config = definition === undefined ? given : withDataSet(definition, given);
  return {
    ...document,
    locate: (place) => document.locate(place.replace(ITS_SOURCE, path)),
    tree: {
      version: 1,
      ...(auth === undefined ? {} : { auth }),
      pipeline: { source: { ...part, config }, sink: { type: 'stdout', config: {} } },
    },
  };
}

interface FoundSource {
  readonly path: string;
  readonly part: JsonObject;
}

function sourceIn({ source, sources }: JsonObject, preset: string | undefined): FoundSource {
  const presets = isObject(sources) ? sources : {};
  if (preset !== undefined) {
    const part = presets[preset];
    if (isObject(part)) return { path: `pipeline.sources.${preset}`, part };
    const hint =
      suggestion(preset, Object.keys(presets)) ?? 'the document has no `pipeline.sources`';
    throw new AppError('bad_option', `there is no \`pipeline.sources.${preset}\``, { hint });
  }
  const [only, ...others] = Object.keys(presets);
  if (!isObject(source)) {
    if (only !== undefined && others.length === 0) return sourceIn({ sources: presets }, only);
    throw new ConfigError([
      {
        code: 'missing_key',
        path: 'pipeline.source',
        message: 'the document has no source to ask',
        hint:
          only === undefined
            ? 'write one under `pipeline.source`'
            : 'choose one of `pipeline.sources` with `--source`',
      },
    ]);
  }
  if (typeof source['ref'] !== 'string') return { path: 'pipeline.source', part: source };
  return sourceIn({ sources: presets }, source['ref']);
}

/** With the data set of an example, where the source wants one and the document names none. */
function withDataSet(definition: SourceDefinition<unknown>, given: JsonObject): JsonObject {
  const checked = check(definition.config, given);
  if (checked.ok) return given;
  const [example = {}] = definition.examples;
  const wanted = checked.issues.flatMap(({ code, path }): [string, JsonValue][] => {
    const value = example[path];
    const isLeftOut = code === 'missing_key' && DATA_SET_FIELDS.has(path);
    return isLeftOut && value !== undefined ? [[path, value]] : [];
  });
  return { ...given, ...Object.fromEntries(wanted) };
}
