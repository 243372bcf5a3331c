/** Config fields that say how a database of Oracle is reached. */
import { finding, integer, optional, text } from '../../kit/schema.ts';

export const PORT = 1521;

export function connectionFields() {
  return {
    connect_string: optional(text()).meta({
      description:
        'Where the database is, as Oracle writes it: `host:port/service`, `tcps://host:port/service`, or a whole `(DESCRIPTION=…)`; in place of `host`.',
      examples: ['db.example:1521/shop', 'tcps://db.example:2484/shop'],
    }),
    host: optional(text()).meta({
      description: 'Host of the database, in place of `connect_string`.',
      examples: ['db.example'],
    }),
    port: optional(integer({ min: 1, max: 65_535 })).meta({
      description: 'Port of its listener (default: 1521); with `host`.',
    }),
    service_name: optional(text()).meta({
      description: 'Name of the service; with `host`.',
      examples: ['shop'],
    }),
    sid: optional(text()).meta({
      description: 'System identifier of an older database, in place of `service_name`.',
      advanced: true,
    }),
    username: text().meta({ description: 'User of the database.', examples: ['reader'] }),
    password: text().meta({
      description: 'Password of the user.',
      examples: ['${env:ORACLE_PASSWORD}'],
      secret: true,
    }),
  };
}

export interface Endpoint {
  readonly connect_string?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly service_name?: string | undefined;
  readonly sid?: string | undefined;
  readonly username: string;
  readonly password: string;
}

export function statementTimeout() {
  return integer({ min: 0, max: 2_000_000 }).default(300).meta({
    description: 'Seconds until a statement that gave no answer is ended; 0 waits forever.',
  });
}

type Findings = { addIssue(issue: ReturnType<typeof finding>): void };

const NAME = /^[\w.:$#-]+$/;

export function checkEndpoint(endpoint: Endpoint, ctx: Findings): void {
  const fault = endpointFault(endpoint);
  if (fault === undefined) return;
  const { field, message } = fault;
  ctx.addIssue(finding('invalid_value', message, { path: [field] }));
}

function endpointFault(
  endpoint: Endpoint,
): { readonly field: string; readonly message: string } | undefined {
  const { connect_string: written, host, port, service_name: service, sid } = endpoint;
  if ((written === undefined) === (host === undefined))
    return { field: 'connect_string', message: 'give exactly one of `connect_string` and `host`' };
  if (written !== undefined) {
    for (const [field, value] of Object.entries({ port, service_name: service, sid }))
      if (value !== undefined)
        return { field, message: `\`${field}\` belongs to \`host\`, not to \`connect_string\`` };
    // The client would read settings from files, or from the web.
    if (/^config-/i.test(written.trim()))
      return { field: 'connect_string', message: 'settings that lie elsewhere are not read' };
    return undefined;
  }
  if ((service === undefined) === (sid === undefined))
    return { field: 'service_name', message: 'give exactly one of `service_name` and `sid`' };
  const strange = Object.entries({ host, service_name: service, sid }).find(
    ([, value]) => value !== undefined && !NAME.test(value),
  );
  return (
    strange && { field: strange[0], message: `\`${strange[0]}\` has letters that no name has` }
  );
}

/** For the client. To be called with a config that was checked. */
export function connectString(endpoint: Endpoint): string {
  const { connect_string: written, host, port = PORT, service_name: service, sid } = endpoint;
  if (written !== undefined) return written;
  const which = service === undefined ? `(SID=${sid})` : `(SERVICE_NAME=${service})`;
  return `(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=${host})(PORT=${port}))(CONNECT_DATA=${which}))`;
}

/** The address without the user, for `datasetUri`. */
export function plainAddress(endpoint: Endpoint): string {
  const { connect_string: written, host, port = PORT, service_name: service, sid } = endpoint;
  if (written === undefined) return `oracle://${host}:${port}/${service ?? sid}`;
  return addressIn(written.trim());
}

const SIMPLE = /^(?:tcps?:)?(?:\/\/)?([^:/?]+)(?::(\d+))?\/([^:/?]+)/i;

function addressIn(written: string): string {
  const value = (name: string): string | undefined =>
    new RegExp(String.raw`\(\s*${name}\s*=\s*([^()\s]+)\s*\)`, 'i').exec(written)?.[1];
  if (written.startsWith('('))
    return `oracle://${value('HOST') ?? 'unknown'}:${value('PORT') ?? PORT}/${value('SERVICE_NAME') ?? value('SID') ?? ''}`;
  const [match, host, port = PORT, service] = SIMPLE.exec(written) ?? [];
  // The name of an entry in `tnsnames.ora`.
  return match === undefined ? `oracle://${written}` : `oracle://${host}:${port}/${service}`;
}
