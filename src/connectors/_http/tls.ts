import { z } from 'zod';
import { boolean, finding, optional, text } from '../../kit/schema.ts';

const clientFields = () => ({
  client_cert: optional(text()).meta({
    description: 'Client certificate: PEM text, or the path of a PEM file.',
  }),
  client_key: optional(text()).meta({
    description: 'Its private key: PEM text, or the path of a PEM file.',
    secret: true,
  }),
  client_identity_pkcs12: optional(text()).meta({
    description: 'Path of a PKCS#12 file with certificate and key.',
  }),
  pkcs12_password: optional(z.string()).meta({
    description: 'Password of the PKCS#12 file.',
    secret: true,
  }),
  min_version: z.enum(['1.2', '1.3']).default('1.2').meta({ description: 'Minimum TLS version.' }),
});

interface ClientFields {
  readonly client_cert?: string | undefined;
  readonly client_key?: string | undefined;
  readonly client_identity_pkcs12?: string | undefined;
  readonly pkcs12_password?: string | undefined;
}

function checkClient(
  value: ClientFields,
  ctx: { addIssue(issue: ReturnType<typeof finding>): void },
): void {
  const pem = value.client_cert !== undefined || value.client_key !== undefined;
  if (pem && value.client_identity_pkcs12 !== undefined) {
    ctx.addIssue(
      finding('invalid_value', 'a PEM pair and a PKCS#12 file cannot be used together', {
        hint: 'remove one of them',
      }),
    );
  }
  if (pem && (value.client_cert === undefined || value.client_key === undefined)) {
    const missing = value.client_cert === undefined ? 'client_cert' : 'client_key';
    ctx.addIssue(
      finding('missing_key', '`client_cert` and `client_key` need each other', {
        path: [missing],
      }),
    );
  }
  if (value.pkcs12_password !== undefined && value.client_identity_pkcs12 === undefined) {
    ctx.addIssue(
      finding('missing_key', '`pkcs12_password` needs `client_identity_pkcs12`', {
        path: ['client_identity_pkcs12'],
      }),
    );
  }
}

/** `tls`: the client certificate. */
export function tlsBlock() {
  return optional(z.strictObject(clientFields()).superRefine(checkClient)).meta({
    description: 'Client certificate and TLS version.',
  });
}

export type TlsBlock = NonNullable<z.infer<ReturnType<typeof tlsBlock>>>;

/** `tls` of connections that are not HTTP: whether they are encrypted, or also how. */
export function connectionTls(description: string) {
  const block = z
    .strictObject({
      ca_path: optional(text()).meta({
        description:
          'PEM file of the authority of the server; unset: those that the machine trusts.',
      }),
      server_name: optional(text()).meta({
        description: 'Name that the certificate of the server must have; unset: its host.',
      }),
      ...clientFields(),
    })
    .superRefine(checkClient);
  return optional(z.union([boolean(), block])).meta({ description });
}

export type ConnectionTls = TlsBlock & {
  readonly ca_path?: string | undefined;
  readonly server_name?: string | undefined;
};
