/** Where an account is. */
import type { Endpoint } from './config.ts';
import { foldedName } from '../_sql/folded-names.ts';

/** A host name has no underscores. */
export function baseOf({ account, endpoint_url: url }: Endpoint): string {
  if (url !== undefined) return url.replace(/\/+$/, '');
  return `https://${account.toLowerCase().replaceAll('_', '-')}.snowflakecomputing.com`;
}

/** What tokens call the account: without a region behind it. */
export function accountName(account: string): string {
  const [name = account] = account.split('.');
  // In `acme-shop_123.global` the end of the name is no part of the account.
  return (/\.global$/i.test(account) ? name.slice(0, name.lastIndexOf('-')) : name).toUpperCase();
}

export function accountUri({ account, database, schema }: Endpoint): string {
  const parts = [account, database ?? '', schema ?? ''].map(foldedPart);
  return `snowflake://${parts.join('/')}`;
}

function foldedPart(name: string, index: number): string {
  return index === 0 || name === '' ? name : foldedName(name);
}
