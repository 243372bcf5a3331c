import type { JsonValue } from '../../../lib/text/json.ts';
import { withField } from '../../_http/set-field.ts';
import type { HttpRequest } from '../../_http/client.ts';

/** Changes to the configured request: for a page, a partition, a bookmark. Later ones win. */
export interface Overlay {
  /**
   * Replaces the whole address (a link to the next page); configured query parameters are then part
   * of the link.
   */
  readonly link?: string;
  readonly query?: readonly (readonly [name: string, value: string])[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields (or JSON pointers) of the JSON body. */
  readonly body?: readonly (readonly [field: string, value: JsonValue])[];
}

/** The request as configured, with its placeholders filled. */
export interface BaseRequest {
  readonly method: string;
  readonly url: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue | undefined;
}

export function overlaid(request: BaseRequest, overlays: readonly Overlay[]): HttpRequest {
  const query = new Map<string, string[]>();
  let { url, headers, body } = request;
  addQuery(query, request.query);
  for (const overlay of overlays) {
    if (overlay.link !== undefined) {
      url = overlay.link;
      query.clear();
    }
    addQuery(query, overlay.query ?? []);
    if (overlay.headers !== undefined) headers = { ...headers, ...overlay.headers };
    for (const [field, value] of overlay.body ?? []) body = withField(body, field, value);
  }
  const pairs = [...query].flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  return {
    method: request.method,
    url,
    query: pairs,
    headers,
    body: body === undefined ? undefined : { json: body },
  };
}

function addQuery(
  query: Map<string, string[]>,
  pairs: readonly (readonly [string, string])[],
): void {
  for (const name of new Set(pairs.map(([one]) => one))) query.set(name, []);
  for (const [name, value] of pairs) query.get(name)?.push(value);
}
