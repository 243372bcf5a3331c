import { z } from 'zod';
import { finding, integer, text, nullAsAbsent } from '../../kit/schema.ts';

const FORMS =
  'accepted forms: `memory`, `sqlite:PATH`, `postgres://user:password@host:port/database`';

export const catalogSchema = z.lazy(() =>
  z.strictObject({
    url: text()
      .superRefine((url, ctx) => {
        if (
          url === 'memory' ||
          /^sqlite:./.test(url) ||
          (/^postgres(?:ql)?:\/\//.test(url) && URL.canParse(url))
        )
          return;
        const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1];
        const what =
          scheme === undefined
            ? 'this is not the address of a catalog'
            : `no catalog is kept at an address of \`${scheme}\``;
        ctx.addIssue(finding('invalid_value', what, { hint: FORMS }));
      })
      .meta({
        description:
          'Where the catalog is kept: `memory` (until the process ends), `sqlite:PATH`, or the address of a PostgreSQL database.',
        examples: ['sqlite:catalog.db', 'memory'],
        secret: true,
      }),
    sample_records: nullAsAbsent(integer({ min: 0, max: 10_000 }).default(100)).meta({
      description:
        'Records of each invocation that are looked at, as read and as written, to infer schemas; 0 counts only.',
    }),
  }),
);
export type CatalogSpec = z.infer<typeof catalogSchema>;
