/**
 * Which callbacks are accepted: nobody shall make the server speak to the machine it
 * runs on.
 */
import { BlockList, isIP } from 'node:net';
import { RefusedError } from '../../lib/errors.ts';
import { isObject } from '../../lib/text/json.ts';
import { canBeSent, carriesBody, headerFault } from '../../lib/http/outgoing-request.ts';
import type { Callback } from '../../wire/run.ts';

export interface CallbackRules {
  /**
   * Hosts named by `--callback-allow-host`. When there are any, no other is accepted, and these may
   * even be link-local.
   */
  readonly allowHosts: readonly string[];
  /** Clustered servers store submissions, so they take no header values. */
  readonly clustered: boolean;
}

export const TERMINAL_STATUSES = ['completed', 'failed', 'cancelled'] as const;

/** Keys of the body that `extra_fields` may not replace. */
export const PAYLOAD_KEYS = [
  'event',
  'run_id',
  'status',
  'name',
  'labels',
  'submitted_at',
  'started_at',
  'finished_at',
  'elapsed_secs',
  'records_written',
  'error',
  'attempt',
] as const;

/** Throws `unprocessable` naming the field. */
export function validateCallback(callback: Callback, rules: CallbackRules): void {
  const url = parseUrl(callback.url);
  validateHost(url, rules);
  if (rules.clustered && `${url.username}${url.password}` !== '')
    throw refusal(
      'callback.url: a login is not possible on a clustered server, which stores the address',
      'put what the receiver needs into `extra_fields`',
    );
  validateMethod(callback);
  validateHeaders(callback.headers, rules);
  for (const key of PAYLOAD_KEYS) {
    if (Object.hasOwn(callback.extra_fields, key))
      throw refusal(`callback.extra_fields: \`${key}\` is a field of the callback itself`);
  }
  for (const status of callback.on ?? []) {
    if ((TERMINAL_STATUSES as readonly string[]).includes(status)) continue;
    throw refusal(
      `callback.on: \`${status}\` is not a status a run ends with`,
      `possible are ${TERMINAL_STATUSES.join(', ')}`,
    );
  }
}

/** As the record shows it: no header value, no credentials. */
export function maskCallback(callback: Callback): unknown {
  const url = new URL(callback.url);
  url.username = '';
  url.password = '';
  const headers = Object.fromEntries(Object.keys(callback.headers).map((name) => [name, '***']));
  return { ...callback, url: url.href, headers };
}

/**
 * As people see it: receivers are often let in by a value of the query, and it stays in the record
 * so that a server that takes the run over can call back.
 */
export function shownCallback(callback: unknown): unknown {
  if (!isObject(callback)) return callback;
  const { url: text, ...rest } = callback;
  if (typeof text !== 'string' || !URL.canParse(text)) return callback;
  const url = new URL(text);
  if (url.search === '') return callback;
  // A value may stand there without a name.
  const pairs = [...url.searchParams].map(([name, value]) =>
    value === '' ? '***' : `${encodeURIComponent(name)}=***`,
  );
  url.search = '';
  url.hash = '';
  return { ...rest, url: `${url.href}?${pairs.join('&')}` };
}

/** Whether masking takes something away from it. */
export function isMaskedCallback({ url, headers }: Callback): boolean {
  const { username, password } = new URL(url);
  return `${username}${password}` !== '' || Object.keys(headers).length > 0;
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw refusal('callback.url is not a URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refusal(
      `callback.url: the scheme \`${url.protocol.slice(0, -1)}\` is not possible`,
      'use http or https',
    );
  }
  return url;
}

function validateHost(url: URL, rules: CallbackRules): void {
  const host = url.hostname.replace(/\.$/, '');
  const allowed = rules.allowHosts.map((name) => name.toLowerCase());
  if (allowed.length > 0) {
    if (allowed.includes(host) || allowed.includes(unbracketed(host))) return;
    throw refusal(
      `callback.url: the host \`${host}\` is not one of those this server calls`,
      'see --callback-allow-host',
    );
  }
  if (isMetadataHost(unbracketed(host))) {
    throw refusal(
      `callback.url: the host \`${host}\` is link-local or serves cloud metadata`,
      'name it in --callback-allow-host if it is meant',
    );
  }
}

function unbracketed(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

const METADATA_NAMES = ['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data'];

function metadataAddresses(): BlockList {
  const list = new BlockList();
  list.addSubnet('169.254.0.0', 16, 'ipv4');
  list.addAddress('100.100.100.200', 'ipv4');
  list.addAddress('192.0.0.192', 'ipv4');
  list.addSubnet('fe80::', 10, 'ipv6');
  list.addAddress('fd00:ec2::254', 'ipv6');
  list.addAddress('fd20:ce::254', 'ipv6');
  // The same IPv4 range as IPv6 writes it: mapped (checked by the list itself), compatible, and
  // behind the well-known NAT64 prefix.
  list.addSubnet('::169.254.0.0', 112, 'ipv6');
  list.addSubnet('64:ff9b::169.254.0.0', 112, 'ipv6');
  return list;
}

const METADATA_ADDRESSES = metadataAddresses();

function isMetadataHost(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return METADATA_NAMES.includes(host);
  return METADATA_ADDRESSES.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

function validateMethod({ method, extra_fields: extra }: Callback): void {
  const name = method.toUpperCase();
  if (!canBeSent(method))
    throw refusal(
      `callback.method: a ${name} request cannot be sent`,
      'use POST, PUT, PATCH or DELETE; GET and HEAD carry no body',
    );
  if (!carriesBody(method) && Object.keys(extra).length > 0)
    throw refusal(
      `callback.extra_fields: a ${name} request carries no body`,
      'use POST, PUT, PATCH or DELETE',
    );
}

function validateHeaders(headers: Readonly<Record<string, string>>, rules: CallbackRules): void {
  const names = Object.keys(headers);
  if (rules.clustered && names.length > 0) {
    throw refusal(
      'callback.headers is not possible on a clustered server',
      'put what the receiver needs into `extra_fields`',
    );
  }
  for (const name of names) {
    const fault = headerFault(name, headers[name] ?? '');
    if (fault !== undefined) throw refusal(`callback.headers: ${fault}`);
  }
}

function refusal(message: string, hint?: string): RefusedError {
  return new RefusedError('unprocessable', message, hint === undefined ? {} : { hint });
}
