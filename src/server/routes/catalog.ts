/** The catalog of data sets. */
import { z } from 'zod';
import { DEFAULT_DEPTH, MAX_DEPTH } from '../../features/catalog/depth.ts';
import { RefusedError } from '../../lib/errors.ts';
import { datasetDetailSchema, datasetPageSchema, lineageSchema } from '../../wire/catalog.ts';
import { itemPieces } from '../http/json-pieces.ts';
import { clamped, listLimit } from '../http/query.ts';
import { defineRoute, json, longJson, type Route } from '../route.ts';

const listQuery = z.strictObject({
  kind: z.string().optional().meta({ description: 'Exact kind of the connector.' }),
  q: z.string().optional().meta({ description: 'Part of the address, in any case.' }),
  limit: listLimit('Data sets on a page', { max: 1000, fallback: 100 }),
  cursor: z
    .string()
    .optional()
    .meta({ description: '`next_cursor` of the page before; an unknown one counts as none.' }),
});

const listDatasets = defineRoute({
  method: 'GET',
  path: '/v1/catalog/datasets',
  permission: 'catalog_read',
  label: 'catalog.list',
  tag: 'catalog',
  summary: 'List data sets, last seen first',
  description:
    'What successful runs read and wrote. Dry runs, limited runs and cancelled runs leave no trace here.',
  query: listQuery,
  uses: ['catalog'],
  responses: { 200: { description: 'One page of data sets.', schema: datasetPageSchema } },
  async handle({ query }, { catalog }) {
    const { datasets, more } = await catalog.list(query);
    return json(200, { datasets, next_cursor: more ? (datasets.at(-1)?.id ?? null) : null });
  },
});

const getDataset = defineRoute({
  method: 'GET',
  path: '/v1/catalog/datasets/{id}',
  permission: 'catalog_read',
  label: 'catalog.get',
  tag: 'catalog',
  summary: 'Read a data set: its schemas, volumes and neighbours',
  params: z.strictObject({ id: z.string().max(64).meta({ description: 'Id of the data set.' }) }),
  uses: ['catalog'],
  responses: { 200: { description: 'The data set.', schema: datasetDetailSchema } },
  async handle({ params }, { catalog }) {
    const dataset = await catalog.get(params.id);
    if (dataset === undefined) throw new RefusedError('not_found', 'there is no such data set');
    return json(200, dataset);
  },
});

const lineageQuery = z.strictObject({
  root: z
    .string()
    .optional()
    .meta({ description: 'Id of a data set; the whole graph when absent.' }),
  depth: clamped({ min: 1, max: MAX_DEPTH }).meta({
    description: `Steps from the root, in both directions; ${DEFAULT_DEPTH} when absent.`,
  }),
});

const readLineage = defineRoute({
  method: 'GET',
  path: '/v1/catalog/lineage',
  permission: 'catalog_read',
  label: 'catalog.lineage',
  tag: 'catalog',
  summary: 'Read the lineage graph, or the part around a data set',
  query: lineageQuery,
  uses: ['catalog'],
  responses: {
    200: {
      description: 'Edges, latest movement first; none for a root that is not known.',
      schema: lineageSchema,
    },
  },
  async handle({ query: { root, depth = DEFAULT_DEPTH } }, { catalog }) {
    const edges = await catalog.lineage({ depth, ...(root === undefined ? {} : { root }) });
    const items = itemPieces(edges);
    return longJson({ before: {}, name: 'edges', items, after: {} });
  },
});

export const catalogRoutes: readonly Route[] = [listDatasets, getDataset, readLineage];
