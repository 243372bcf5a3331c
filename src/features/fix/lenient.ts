/**
 * A document that puts aside what it would fail for, so that one look finds all that is wrong. It is
 * only looked at, never run.
 */
import type { Parts } from '../../kit/parts.ts';
import { jsonSchemaOf } from '../../kit/json-schema.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export function lenientTree(tree: JsonObject, parts: Parts): JsonObject {
  const { delivery: _delivery, pipeline, matrix, ...rest } = tree;
  return {
    ...rest,
    ...(isObject(pipeline) ? { pipeline: { ...lenient(pipeline, parts), dlq: NOWHERE } } : {}),
    ...(Array.isArray(matrix)
      ? { matrix: matrix.map((row) => (isObject(row) ? lenient(row, parts) : row)) }
      : {}),
  };
}

const NOWHERE = { sink: { type: 'jsonl', config: { path: 'not-written.jsonl' } } };

/** The pipeline, or a row. */
function lenient(part: JsonObject, parts: Parts): JsonObject {
  const { delivery: _delivery, dlq: _dlq, ...rest } = part;
  const { source, sources, transforms, contract, quality } = rest;
  return {
    ...rest,
    ...(isObject(source) ? { source: lenientSource(source, parts) } : {}),
    ...(isObject(sources)
      ? {
          sources: Object.fromEntries(
            Object.entries(sources).map(([name, one]) => [
              name,
              isObject(one) ? lenientSource(one, parts) : one,
            ]),
          ),
        }
      : {}),
    ...(Array.isArray(transforms) ? { transforms: transforms.map(lenientTransform) } : {}),
    ...(isObject(contract) ? { contract: { ...contract, on_breach: 'quarantine' } } : {}),
    ...(isObject(quality) ? { quality: lenientQuality(quality) } : {}),
  };
}

function lenientSource(source: JsonObject, { sources }: Parts): JsonObject {
  const definition = typeof source['type'] === 'string' ? sources.get(source['type']) : undefined;
  const properties = definition === undefined ? {} : jsonSchemaOf(definition.config).properties;
  if (properties?.['on_error'] === undefined) return source;
  const config = isObject(source['config']) ? source['config'] : {};
  return { ...source, config: { ...config, on_error: 'dlq' } };
}

function lenientTransform(transform: JsonValue): JsonValue {
  if (!isObject(transform) || transform['type'] !== 'cast') return transform;
  const config = isObject(transform['config']) ? transform['config'] : {};
  const policy = config['on_error'] ?? 'error';
  return policy === 'error' ? { ...transform, config: { ...config, on_error: 'dlq' } } : transform;
}

function lenientQuality(quality: JsonObject): JsonObject {
  const { record } = quality;
  if (!Array.isArray(record)) return quality;
  return {
    ...quality,
    record: record.map((check) =>
      isObject(check) ? { ...check, on_failure: 'quarantine' } : check,
    ),
  };
}
