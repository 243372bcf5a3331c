import { z } from 'zod';
import { finding, integer, nullAsAbsent, optional, text } from '../kit/schema.ts';
import { defineTrigger } from '../kit/trigger.ts';

const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const fields = () =>
  z.strictObject({
    methods: nullAsAbsent(
      z
        .array(z.enum(['POST', 'PUT']))
        .min(1)
        .default(['POST']),
    ).meta({ description: 'Methods of requests that it answers.' }),
    dedupe_header: optional(
      text().superRefine((name, ctx) => {
        if (HEADER.test(name)) return;
        ctx.addIssue(finding('invalid_value', `\`${name}\` cannot be the name of a header`));
      }),
    ).meta({
      description:
        'Header whose value is the idempotency key of the run: a second request with the same value starts none.',
    }),
    debounce_secs: nullAsAbsent(integer({ min: 0 }).default(0)).meta({
      description: 'For this long after a request started a run, others start none; 0 for never.',
    }),
  });
type Config = z.output<ReturnType<typeof fields>>;

export const webhook = defineTrigger<Config>({
  type: 'webhook',
  description: 'A request to `/v1/triggers/{name}`.',
  fields,
  examples: [{}, { methods: ['POST', 'PUT'], dedupe_header: 'X-Delivery-Id', debounce_secs: 30 }],
  tokens: ({ methods: [method] }) => [
    { name: 'method', example: method ?? 'POST' },
    { name: 'body', example: '{}' },
    { name: 'header', example: 'value', isGroup: true },
    { name: 'query', example: 'value', isGroup: true },
  ],
  starts: ({ methods, debounce_secs: debounce }, name) =>
    `${methods.join(' or ')} /v1/triggers/${name}${debounce === 0 ? '' : `, at most every ${debounce} s`}`,
});
