/** The requests of a configured source, with what `odata` derives filled in. */
import { joinUrl } from '../../_http/url.ts';
import type { RestConfig } from '../config/config.ts';
import type { Pagination } from '../config/pagination-config.ts';
import { fillPath, fillText, type Values } from '../../_http/placeholders.ts';
import type { BaseRequest } from './request-parts.ts';

export interface Shape {
  readonly pagination: Pagination;
  readonly recordsPath: string | undefined;
  /** Address with placeholders. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
}

export function shapeOf(config: RestConfig): Shape {
  const query = [
    ...Object.entries(config.query_params),
    ...Object.entries(config.query_params_multi).flatMap(([name, values]) =>
      values.map((value) => [name, value] as const),
    ),
  ];
  const plain = {
    pagination: config.pagination,
    recordsPath: config.records_path,
    path: config.path,
    query,
    headers: config.headers,
  };
  return config.odata === undefined ? plain : withOdata(plain, config.odata);
}

function withOdata(plain: Shape, odata: NonNullable<RestConfig['odata']>): Shape {
  const v2 = odata.version === 'v2';
  const { select, expand, filter, orderby } = odata;
  const options = Object.entries({
    $select: select,
    $expand: expand,
    $filter: filter,
    $orderby: orderby,
    ...(v2 ? { $format: 'json' } : {}),
  });
  const size: Readonly<Record<string, string>> =
    odata.page_size === undefined ? {} : { Prefer: `odata.maxpagesize=${odata.page_size}` };
  return {
    pagination: {
      type: 'NextLinkInBody',
      next_link_path: v2 ? "$['odata.nextLink']" : "$['@odata.nextLink']",
    },
    recordsPath: plain.recordsPath ?? '$.value',
    path: odata.entity === undefined ? plain.path : joinPath(plain.path, odata.entity),
    query: [
      ...options.filter((pair): pair is [string, string] => pair[1] !== undefined),
      ...plain.query,
    ],
    headers: { ...size, ...plain.headers },
  };
}

function joinPath(path: string, entity: string): string {
  return path === '' ? entity : `${path.replace(/\/+$/, '')}/${entity}`;
}

/**
 * The request of one result: placeholders filled from the parent record, the partition and the
 * binds.
 */
export function requestOf(config: RestConfig, shape: Shape, values: Values): BaseRequest {
  return {
    method: config.method,
    url: joinUrl(config.base_url, fillPath(shape.path, values)),
    query: shape.query.map(([name, value]) => [name, fillText(value, values)] as const),
    headers: Object.fromEntries(
      Object.entries(shape.headers).map(([name, value]) => [name, fillText(value, values)]),
    ),
    body: config.body,
  };
}
