import { z } from 'zod';
import { defineCredential } from '../kit/credential.ts';
import { finding, optional, text } from '../kit/schema.ts';
import { basic, bearer, fixed, namedHeader } from './placement.ts';

const config = z.lazy(() =>
  z
    .strictObject({
      token: optional(text()).meta({ description: 'Bearer token.', secret: true }),
      header: optional(text()).meta({
        description: 'Name of the header that carries `value`.',
        examples: ['X-Api-Key'],
      }),
      value: optional(text()).meta({ description: 'Value of `header`.', secret: true }),
      username: optional(text()).meta({ description: 'User name of basic authentication.' }),
      password: optional(z.string()).meta({
        description: 'Password of basic authentication.',
        secret: true,
      }),
    })
    .superRefine((value, ctx) => {
      const shapes = [
        value.token !== undefined,
        value.header !== undefined || value.value !== undefined,
        value.username !== undefined || value.password !== undefined,
      ].filter(Boolean).length;
      if (shapes !== 1) {
        const says =
          shapes === 0 ? 'the login says nothing' : 'the login says several things at once';
        ctx.addIssue(
          finding('invalid_value', says, {
            hint: 'write either `token`, or `header` and `value`, or `username` and `password`',
          }),
        );
        return;
      }
      if ((value.header === undefined) !== (value.value === undefined)) {
        ctx.addIssue(
          finding('missing_key', '`header` and `value` belong together', {
            path: [value.header === undefined ? 'header' : 'value'],
          }),
        );
      }
      if (value.password !== undefined && value.username === undefined) {
        ctx.addIssue(finding('missing_key', '`password` needs `username`', { path: ['username'] }));
      }
    }),
);

export const staticCredential = defineCredential<z.infer<typeof config>>({
  type: 'static',
  description: 'A fixed bearer token, header, or user name and password.',
  config,
  examples: [
    { token: 'abcd1234' },
    { header: 'X-Api-Key', value: 'abcd1234' },
    { username: 'reader', password: 'abcd1234' },
  ],
  open(value, { env: { redactor } }) {
    if (value.token !== undefined) return fixed(bearer(value.token, redactor));
    if (value.header !== undefined)
      return fixed(namedHeader(value.header, value.value ?? '', redactor));
    return fixed(basic(value.username ?? '', value.password ?? '', redactor));
  },
});
