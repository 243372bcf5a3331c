import { z } from 'zod';
import { integer, optional, text } from '../../../kit/schema.ts';
import { spelled } from '../../_http/fields.ts';

const list = () =>
  z.preprocess((value) => (Array.isArray(value) ? value.join(',') : value), text());

/** `odata`: the query options of an OData service. */
export function odata() {
  return optional(
    z.strictObject({
      version: z
        .preprocess(spelled(['v2', 'v4']), z.enum(['v2', 'v4']))
        .default('v4')
        .meta({ description: 'Version of the protocol.' }),
      entity: optional(text()).meta({ description: 'Entity set; the last part of the address.' }),
      select: optional(list()).meta({
        description: '`$select`: properties to read, as text or list.',
      }),
      expand: optional(list()).meta({
        description: '`$expand`: related entities to include, as text or list.',
      }),
      filter: optional(text()).meta({ description: '`$filter`.' }),
      orderby: optional(list()).meta({ description: '`$orderby`, as text or list.' }),
      page_size: optional(integer({ min: 1 })).meta({
        description: 'Records to ask for in a page (`Prefer: odata.maxpagesize`).',
      }),
    }),
  ).meta({
    description: 'Reads an OData service: derives address, query options, records and paging.',
  });
}

export type OdataBlock = NonNullable<z.infer<ReturnType<typeof odata>>>;
