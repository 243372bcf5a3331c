import { finding, text } from '../kit/schema.ts';

const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export const headerName = () =>
  text().superRefine((name, ctx) => {
    if (HEADER.test(name)) return;
    ctx.addIssue(finding('invalid_value', `\`${name}\` cannot be the name of a header`));
  });
