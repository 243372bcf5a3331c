/**
 * Path templates: `/v1/runs/{id}`. Routing proper is the framework's; this answers what else lives
 * at a path.
 */
import type { ZodType } from 'zod';
import { check } from '../../kit/schema.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { HttpMethod, Route } from '../route.ts';

export interface PathIndex {
  /** The template a path belongs to and the methods it has there. */
  find(
    path: string,
  ): { readonly template: string; readonly methods: readonly HttpMethod[] } | undefined;
}

export function parameterNames(template: string): string[] {
  return [...template.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

export function indexPaths(routes: readonly Route[]): PathIndex {
  const methods = new Map<string, HttpMethod[]>();
  for (const route of routes)
    methods.set(route.path, [...(methods.get(route.path) ?? []), route.method]);
  // Fixed paths first: `/v1/templates/matrix` is not an `{id}`.
  const templates = [...methods.keys()].sort(
    (a, b) => parameterNames(a).length - parameterNames(b).length,
  );
  const patterns = templates.map((template) => ({ template, segments: template.split('/') }));
  return {
    find(path) {
      const asked = path.split('/');
      const found = patterns.find(({ segments }) => matches(segments, asked));
      return found && { template: found.template, methods: methods.get(found.template) ?? [] };
    },
  };
}

function matches(segments: readonly string[], asked: readonly string[]): boolean {
  if (segments.length !== asked.length) return false;
  return segments.every(
    (segment, index) =>
      segment === asked[index] || (segment.startsWith('{') && asked[index] !== ''),
  );
}

/** The value of an `Allow` header. */
export function allowHeader(methods: readonly HttpMethod[]): string {
  const head = methods.includes('GET') ? ['HEAD'] : [];
  return [...methods, ...head, 'OPTIONS'].join(', ');
}

/** A parameter that does not fit its schema is a 404: no resource has this name. */
export function readParams<P>(schema: ZodType<P>, values: unknown): P {
  const result = check(schema, values);
  if (!result.ok) throw nothingHere();
  return result.value;
}

export function nothingHere(): RefusedError {
  return new RefusedError('not_found', 'there is nothing at this path');
}
