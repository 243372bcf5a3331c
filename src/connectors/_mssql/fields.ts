/** Config fields that say how SQL Server is reached. */
import { z } from 'zod';
import { finding, integer, optional, text } from '../../kit/schema.ts';
import {
  parseMssqlString,
  parseMssqlUrl,
  PORT,
  type MssqlAddress,
  type TlsType,
} from './address.ts';

const TLS_TYPES = ['prefer', 'require', 'trust_server_certificate', 'disable'] as const;

export function connectionFields() {
  return {
    connection_url: optional(text()).meta({
      description:
        'Address of the database: `mssql://user:password@host:port/database` (also `sqlserver`), with special letters percent-encoded; options are `encrypt`, `trustServerCertificate`, `authentication`, `applicationName` and `connectTimeout`.',
      examples: ['${env:MSSQL_URL}', 'mssql://reader:secret@db.example/shop'],
      secret: true,
    }),
    connection_string: optional(text()).meta({
      description:
        'The same as a connection string of ADO.NET, in place of `connection_url`; `Authentication` may name a login of Microsoft Entra.',
      examples: ['Server=tcp:db.example,1433;Database=shop;User ID=reader;Password=secret'],
      secret: true,
    }),
    tls: z
      .preprocess(
        (value) => (typeof value === 'string' ? { type: value } : (value ?? undefined)),
        z
          .strictObject({
            type: z.enum(TLS_TYPES).default('prefer').meta({
              description:
                '`prefer` encrypts where the server can, without looking at its certificate; `require` checks the certificate; `trust_server_certificate` encrypts and does not; `disable` encrypts nothing.',
            }),
            ca_cert_path: optional(text()).meta({
              description: 'File with the certificates of authorities (PEM), for `require`.',
            }),
          })
          .optional(),
      )
      .meta({
        description:
          'Encryption of the connection; what the address says, or `prefer`, when absent.',
      }),
  };
}

export interface Endpoint {
  readonly connection_url?: string | undefined;
  readonly connection_string?: string | undefined;
  readonly tls?:
    | { readonly type: (typeof TLS_TYPES)[number]; readonly ca_cert_path?: string | undefined }
    | undefined;
}

export function statementTimeout() {
  return integer({ min: 0, max: 2_000_000 }).default(300).meta({
    description: 'Seconds until a statement that gave no answer is ended; 0 waits forever.',
  });
}

type Findings = { addIssue(issue: ReturnType<typeof finding>): void };

export function checkEndpoint(endpoint: Endpoint, ctx: Findings): void {
  const { connection_url: url, connection_string: written, tls } = endpoint;
  if ((url === undefined) === (written === undefined)) {
    const message = 'give exactly one of `connection_url` and `connection_string`';
    ctx.addIssue(finding('invalid_value', message, { path: ['connection_url'] }));
    return;
  }
  const path = url === undefined ? ['connection_string'] : ['connection_url'];
  const parsed = url === undefined ? parseMssqlString(written ?? '') : parseMssqlUrl(url);
  if ('fault' in parsed) {
    const { fault, hint } = parsed;
    ctx.addIssue(
      finding('invalid_value', fault, { path, ...(hint === undefined ? {} : { hint }) }),
    );
    return;
  }
  if (tls?.ca_cert_path !== undefined && tls.type !== 'require')
    ctx.addIssue(
      finding('invalid_value', '`ca_cert_path` needs `type: require`', {
        path: ['tls', 'ca_cert_path'],
        hint: 'only `require` looks at the certificate of the server',
      }),
    );
}

export interface Target extends MssqlAddress {
  readonly tlsType: TlsType;
  readonly caPath: string | undefined;
}

/** Where the server is. To be called with a config that was checked. */
export function targetOf(endpoint: Endpoint): Target {
  const { connection_url: url, connection_string: written, tls } = endpoint;
  const parsed = url === undefined ? parseMssqlString(written ?? '') : parseMssqlUrl(url);
  if ('fault' in parsed) throw new Error('cannot happen: an address that was checked is wrong');
  return {
    ...parsed,
    tlsType: tls?.type ?? parsed.tls ?? 'prefer',
    caPath: tls?.ca_cert_path,
  };
}

/** The address without user, password and options, for `datasetUri`. */
export function plainUrl(endpoint: Endpoint): string {
  const { host, port, instance, database = '' } = targetOf(endpoint);
  const where = host.includes(':') ? `[${host}]` : host;
  const at = instance === undefined ? `:${port ?? PORT}` : `/${encodeURIComponent(instance)}`;
  return `mssql://${where}${at}/${encodeURIComponent(database)}`;
}
