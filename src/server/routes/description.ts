import { z } from 'zod';
import { describeApi } from '../openapi.ts';
import { defineRoute, json, type Route, type RouteDefinition } from '../route.ts';

/** The API described by itself. The list is asked for late: it holds these routes too. */
export function descriptionRoutes(list: () => readonly Route[]): readonly Route[] {
  let description: object | undefined;
  const shared = {
    method: 'GET',
    tag: 'operations',
    summary: 'This API as an OpenAPI 3.1 document',
    responses: { 200: { description: 'The document.', schema: z.looseObject({}) } },
    handle: () => json(200, (description ??= describeApi(list()))),
  } as const satisfies Partial<RouteDefinition<undefined, undefined, undefined, never>>;
  return [
    defineRoute({ ...shared, path: '/openapi.json', permission: 'public', label: 'openapi' }),
    defineRoute({
      ...shared,
      path: '/v1/openapi.json',
      permission: 'identity',
      label: 'openapi.get',
    }),
  ];
}
