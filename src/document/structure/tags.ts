import { z } from 'zod';
import { finding, optional } from '../../kit/schema.ts';

const TAG = /^[a-z0-9][a-z0-9_-]*$/;

const tag = z.lazy(() =>
  z.string().superRefine((value, ctx) => {
    if (TAG.test(value)) return;
    const hint = 'lower-case letters, digits, `_` and `-`, starting with a letter or digit';
    ctx.addIssue(finding('invalid_value', `${JSON.stringify(value)} is not a tag`, { hint }));
  }),
);

export const tagsField = z.lazy(() =>
  optional(z.array(tag)).meta({
    description: 'Words to select rows by; those of the source preset and the row add up.',
    examples: [['nightly']],
  }),
);
