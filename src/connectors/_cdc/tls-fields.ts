import { z } from 'zod';
import { finding, optional, text } from '../../kit/schema.ts';

const tlsMode = () =>
  z.enum(['disable', 'require', 'verify_ca', 'verify_full']).meta({
    description:
      '`require`: encrypted, the server may be anybody; `verify_ca`: with a certificate of the authority; `verify_full`: with one for this host.',
  });

export const tlsFields = (description: string) =>
  optional(
    z.preprocess(
      (value) => (typeof value === 'string' ? { mode: value } : value),
      z
        .strictObject({
          mode: tlsMode(),
          ca_path: optional(text()).meta({
            description: 'PEM file of the authority; unset: those of the system.',
          }),
        })
        .superRefine(({ mode, ca_path: file }, ctx) => {
          if (file === undefined || mode.startsWith('verify')) return;
          const message = `\`ca_path\` has no effect where \`mode\` is \`${mode}\``;
          const hint = 'set `mode: verify_full`, or remove it';
          ctx.addIssue(finding('invalid_value', message, { path: ['ca_path'], hint }));
        }),
    ),
  ).meta({ description });
