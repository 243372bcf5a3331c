/** How senders of webhooks prove that a request is theirs: an HMAC of its body. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { boolean, finding, integer, nullAsAbsent, optional, text } from '../kit/schema.ts';
import type { TriggerRequest } from '../kit/trigger.ts';
import { RefusedError } from '../lib/errors.ts';
import { headerName } from './header-name.ts';

/** As the notifications of this program are signed. */
const PLAIN_HEADER = 'X-Svc-Signature';

export const signatureSchema = () =>
  z
    .strictObject({
      style: z.enum(['github', 'stripe', 'slack', 'plain']).meta({
        description:
          'Which header holds the signature, and what is signed, as this sender has it; `plain`: HMAC-SHA256 of the body in hexadecimal digits.',
      }),
      secret: z.union([text(), z.array(text()).min(1)]).meta({
        description:
          'What the sender signs with; several while one replaces another. Write a reference such as `${env:NAME}`.',
        secret: true,
      }),
      header: optional(headerName()).meta({
        description: `Header of a \`plain\` signature; \`${PLAIN_HEADER}\` when absent.`,
      }),
      tolerance_secs: nullAsAbsent(integer({ min: 1 }).default(300)).meta({
        description:
          'How far the time that Stripe and Slack sign may lie from ours, against requests that are sent again by others.',
      }),
      instead_of_token: boolean().default(false).meta({
        description:
          'Whether the signature suffices: senders that cannot send a bearer token are let in without one.',
      }),
    })
    .superRefine(({ style, header }, ctx) => {
      if (header === undefined || style === 'plain') return;
      ctx.addIssue(
        finding('invalid_value', `the header of ${style} signatures is always the same`, {
          path: ['header'],
          hint: 'leave `header` out',
        }),
      );
    });
export type Signature = z.output<ReturnType<typeof signatureSchema>>;

export function secretsOf({ secret }: Signature): readonly string[] {
  return typeof secret === 'string' ? [secret] : secret;
}

/** What a request claims: its signatures, and the parts that they sign. */
interface Claim {
  /** In hexadecimal digits; one of them must be right. */
  readonly signatures: readonly string[];
  /** Stands before the body. */
  readonly before: string;
  /** Seconds since 1970. */
  readonly signedAt?: string;
}

/** Throws `unauthorized`; what is wrong is told without what would have been right. */
export function verifySignature(signature: Signature, request: TriggerRequest, now: Date): void {
  const { signatures, before, signedAt } = claimOf(signature, request);
  if (signatures.length === 0) throw forged('the request has no signature');
  if (signedAt !== undefined && !isFresh(signedAt, signature.tolerance_secs, now))
    throw forged('the time that the signature names is not now', 'set the clocks of both sides');
  const right = secretsOf(signature).map((secret) =>
    createHmac('sha256', secret).update(before).update(request.body).digest(),
  );
  let isRight = false;
  for (const one of signatures) for (const digest of right) if (isSame(one, digest)) isRight = true;
  if (!isRight)
    throw forged('the signature of the request is wrong', 'compare the secrets of both sides');
}

function claimOf({ style, header }: Signature, { headers }: TriggerRequest): Claim {
  switch (style) {
    case 'github':
      return { signatures: prefixed(headers['x-hub-signature-256'], 'sha256='), before: '' };
    case 'slack': {
      const signedAt = headers['x-slack-request-timestamp'] ?? '';
      const signatures = prefixed(headers['x-slack-signature'], 'v0=');
      return { signatures, before: `v0:${signedAt}:`, signedAt };
    }
    case 'stripe': {
      const parts = (headers['stripe-signature'] ?? '').split(',').map((part) => part.trim());
      const [signedAt = ''] = parts.flatMap((part) => prefixed(part, 't='));
      const signatures = parts.flatMap((part) => prefixed(part, 'v1='));
      return { signatures, before: `${signedAt}.`, signedAt };
    }
    case 'plain':
      return {
        signatures: prefixed(headers[(header ?? PLAIN_HEADER).toLowerCase()], ''),
        before: '',
      };
    default:
      return style satisfies never;
  }
}

function prefixed(value: string | undefined, prefix: string): string[] {
  return value?.startsWith(prefix) === true && value.length > prefix.length
    ? [value.slice(prefix.length)]
    : [];
}

function isFresh(signedAt: string, toleranceSecs: number, now: Date): boolean {
  if (!/^\d{1,12}$/.test(signedAt)) return false;
  return Math.abs(Number(signedAt) - now.getTime() / 1000) <= toleranceSecs;
}

function isSame(digits: string, digest: Buffer): boolean {
  if (!/^[\da-f]{64}$/i.test(digits)) return false;
  return timingSafeEqual(Buffer.from(digits, 'hex'), digest);
}

function forged(message: string, hint?: string): RefusedError {
  return new RefusedError('unauthorized', message, hint === undefined ? {} : { hint });
}
