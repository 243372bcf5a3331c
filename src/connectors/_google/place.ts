/** Where a service of Google Cloud is reached over gRPC: it, another way to it, or an emulator. */
import type { z } from 'zod';
import { finding, optional, text } from '../../kit/schema.ts';
import type { GoogleAuth } from './account.ts';

const HOST = /^[\w.-]+(?::\d{1,5})?$|^\[[\da-f:]+\](?::\d{1,5})?$/i;

export function emulatorHost(example: string) {
  return optional(
    text().superRefine((value, ctx) => {
      if (HOST.test(withoutScheme(value, 'http'))) return;
      const hint = `write its host and port: \`${example}\``;
      ctx.addIssue(finding('invalid_value', 'this is no address of an emulator', { hint }));
    }),
  ).meta({
    description: 'Host and port of an emulator, which is asked without TLS and without a login.',
    examples: [example],
  });
}

export function serviceEndpoint(example: string) {
  return optional(
    text().superRefine((value, ctx) => {
      if (HOST.test(withoutScheme(value, 'https'))) return;
      const hint = /^http:/i.test(value)
        ? 'a login is only sent over TLS; name an emulator with `emulator_host`'
        : `write its host: \`${example}\``;
      ctx.addIssue(finding('invalid_value', 'this is no address of a service', { hint }));
    }),
  ).meta({
    description: 'Another way to the service, such as a regional or private endpoint; over TLS.',
    examples: [example],
  });
}

export interface ServicePlace {
  readonly emulator_host?: string | undefined;
  readonly endpoint?: string | undefined;
}

/** `field`: where the config has the login. */
export function checkPlace(
  { emulator_host: emulator, endpoint }: ServicePlace,
  { auth, field }: { readonly auth: GoogleAuth | undefined; readonly field: string },
  ctx: z.RefinementCtx,
): void {
  if (emulator !== undefined && endpoint !== undefined)
    ctx.addIssue(
      finding('conflicting_keys', 'there are two addresses', {
        path: ['endpoint'],
        hint: 'leave out `endpoint` to use an emulator, or `emulator_host` to use the service',
      }),
    );
  if (auth?.type === 'anonymous' && emulator === undefined)
    ctx.addIssue(
      finding('invalid_value', 'the service answers nobody without a login; only emulators do', {
        path: [field, 'type'],
        hint: 'write `type: application_default`, or the key of a service account',
      }),
    );
}

export interface Address {
  /** `host:port`. */
  readonly target: string;
  readonly isEmulator: boolean;
}

export function addressOf(
  { emulator_host: emulator, endpoint }: ServicePlace,
  usual: string,
): Address {
  if (emulator !== undefined)
    return { target: withPort(withoutScheme(emulator, 'http'), 80), isEmulator: true };
  return { target: withPort(withoutScheme(endpoint ?? usual, 'https'), 443), isEmulator: false };
}

function withoutScheme(address: string, scheme: string): string {
  return address.replace(new RegExp(`^${scheme}://`, 'i'), '').replace(/\/$/, '');
}

function withPort(host: string, port: number): string {
  return /:\d+$/.test(host) ? host : `${host}:${port}`;
}
