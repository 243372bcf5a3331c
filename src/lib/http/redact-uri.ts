/**
 * Addresses without their credentials, and the names of settings that hold secrets.
 */
import { localAddress } from './local-address.ts';
import { percentDecoded } from '../text/percent-decoded.ts';

/** Names whose values are secret, in any case and however their words are joined. */
const SECRET_KEYS: ReadonlySet<string> = new Set(
  (
    'pwd apikey secretkey accesskey accesskeyid secretaccesskey sig sas accountkey sharedaccesskey authorization auth ' +
    'routingkey webhookurl'
  ).split(' '),
);

/** Matches `client_secret`, `sslpassword`, `X-Amz-Signature`: the end of the name decides. */
const SECRET_ENDINGS = /(?:password|passwd|token|secret|signature)$/;

/** An `@` with what can be the name of a host behind it. */
const BEFORE_HOST = /@(?=(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d+)?(?:[/?#;,]|$))/gi;

/**
 * The address without user info, and with `***` instead of the values of parameters that are secret
 * by their name.
 */
export function redactUri(uri: string): string {
  const bare = localAddress(uri) === undefined ? withoutUserInfo(uri) : uri;
  return withoutSecretValues(bare);
}

/** A value goes up to the next pair; one that is not secret may hold pairs of its own. */
function withoutSecretValues(text: string): string {
  return text.replaceAll(
    /([;&?#,]|:\/\/)([^;&?#,=]*)=([^;&]*)/g,
    (_pair, before: string, name: string, value: string) =>
      isSecretKey(name) ? `${before}${name}=***` : `${before}${name}=${withoutSecretValues(value)}`,
  );
}

export function isSecretKey(name: string): boolean {
  const bare = percentDecoded(name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
  return SECRET_KEYS.has(bare) || SECRET_ENDINGS.test(bare);
}

/**
 * A password may hold anything, even `/` and `@`: everything up to the last host-like place goes,
 * where it can be one.
 */
function withoutUserInfo(uri: string): string {
  const start = uri.indexOf('://') + 3;
  if (start === 2) return uri;
  const [address, detail] = splitDetail(uri.slice(start));
  const ats = [...address.matchAll(BEFORE_HOST)].map(({ index }) => index);
  const last = ats.findLast((at) => isUserInfo(address.slice(0, at)));
  return last === undefined ? uri : uri.slice(0, start) + address.slice(last + 1) + detail;
}

/** Whatever follows the name of a secret parameter belongs to its value. */
function isUserInfo(text: string): boolean {
  return withoutSecretValues(text) === text && (!/[/?#]/.test(text) || text.includes(':'));
}

/** What follows is our own text, in which an `@` does not mean credentials. */
function splitDetail(text: string): readonly [string, string] {
  const cut = text.search(/\?(?:query|table|topic|subject|key|tables|publication)=/);
  return cut === -1 ? [text, ''] : [text.slice(0, cut), text.slice(cut)];
}
