/** Where the objects of Azure Blob Storage are, and who asks for them. */
import { z } from 'zod';
import type { PartContext } from '../../kit/context.ts';
import { otherName } from '../../kit/other-name.ts';
import { boolean, finding, optional, text } from '../../kit/schema.ts';
import type { Env } from '../../lib/env.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { openAzure } from '../../lib/objects/azure-objects.ts';
import type { AzureAuth, AzurePlace } from '../../lib/objects/azure-login.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { runRequests, type Requesting } from '../_http/run-requests.ts';
import { endpointUrl } from '../_http/fields.ts';

/** The emulators have one account, which everybody knows. */
const EMULATOR = {
  account: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
  endpoint: 'http://127.0.0.1:10000',
} as const;

const secret = (description: string) => text().meta({ description, secret: true });

const auth = () =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('default').meta({
        description:
          'What the machine has: variables, its identity, or the login of the developer tools.',
      }),
    }),
    z.strictObject({
      type: z.literal('account_key').meta({ description: 'A key of the account.' }),
      config: otherName(
        'key',
        'account_key',
        z.strictObject({ account_key: secret('The key; may also be written as `key`.') }),
      ).meta({ description: 'The key.' }),
    }),
    z.strictObject({
      type: z.literal('sas_token').meta({ description: 'A shared access signature.' }),
      config: otherName(
        'token',
        'sas_token',
        z.strictObject({
          sas_token: secret('The signature, `sv=…&sig=…`; may also be written as `token`.'),
        }),
      ).meta({ description: 'The signature.' }),
    }),
    z.strictObject({
      type: z.literal('connection_string').meta({
        description: 'A connection string, which names the account as well.',
      }),
      config: z
        .strictObject({ connection_string: secret('The string.') })
        .meta({ description: 'The string.' }),
    }),
    z.strictObject({
      type: z.literal('managed_identity').meta({ description: 'The identity of the machine.' }),
      config: z
        .strictObject({
          client_id: optional(text()).meta({ description: 'Which one, where it has several.' }),
        })
        .prefault({})
        .meta({ description: 'Which identity.' }),
    }),
    z.strictObject({
      type: z.literal('service_principal').meta({ description: 'A service principal.' }),
      config: z
        .strictObject({
          client_id: text().meta({ description: 'Its id.' }),
          client_secret: secret('Its secret.'),
          tenant_id: text().meta({ description: 'The tenant.' }),
        })
        .meta({ description: 'The principal.' }),
    }),
  ]);

export function azureFields() {
  return {
    container: text().meta({ description: 'Name of the container.' }),
    account: optional(text()).meta({
      description:
        'Name of the storage account; a connection string has it and must not name another one, and with `endpoint` only a key needs it. Where it is needed and absent, the variable AZURE_STORAGE_ACCOUNT_NAME or AZURE_STORAGE_ACCOUNT of the machine names it.',
    }),
    auth: optional(auth()).meta({
      description:
        'Who asks; `default` when absent, and the account of the emulator with `use_emulator`.',
    }),
    endpoint: endpointUrl(
      'Address of the account where it is not that of the public cloud: `https://ACCOUNT.blob.core.windows.net`.',
      'https://account.blob.core.usgovcloudapi.net',
    ),
    allow_http: boolean()
      .default(false)
      .meta({ description: 'Whether `endpoint` may be plain http.' }),
    use_emulator: boolean().default(false).meta({
      description:
        'Whether an emulator is asked (Azurite), at `http://127.0.0.1:10000` unless `endpoint` is given.',
    }),
  };
}

export interface AzureConfig {
  readonly container: string;
  readonly account?: string | undefined;
  readonly auth?: z.output<ReturnType<typeof auth>> | undefined;
  readonly endpoint?: string | undefined;
  readonly allow_http: boolean;
  readonly use_emulator: boolean;
}

export function checkPlace(value: AzureConfig, ctx: z.RefinementCtx): void {
  const { auth: who, endpoint, use_emulator: isEmulator } = value;
  const issue = (field: string, message: string, hint: string): void =>
    ctx.addIssue(finding('invalid_value', message, { path: [field], hint }));
  if (who?.type === 'connection_string') {
    const said = saidBy(who.config.connection_string);
    for (const field of ['account', 'endpoint'] as const) {
      const [given, other] = [value[field], said[field]];
      if (given === undefined || other === undefined || sameText(given, other)) continue;
      issue(field, `the connection string names another \`${field}\``, `remove \`${field}\``);
    }
    if (isEmulator) issue('use_emulator', 'the connection string says it already', 'remove it');
    return;
  }
  if (endpoint?.startsWith('http:') === true && !value.allow_http && !isEmulator)
    issue('endpoint', 'this address is not encrypted', 'use https, or set `allow_http: true`');
}

/** What a connection string says, as far as it says it. */
function saidBy(connectionString: string): Partial<Record<'account' | 'endpoint', string>> {
  const valueOf = (name: string): string | undefined =>
    new RegExp(`(?:^|;)\\s*${name}=([^;]*)`, 'i').exec(connectionString)?.[1]?.trim();
  const [account, endpoint] = [valueOf('AccountName'), valueOf('BlobEndpoint')];
  return {
    ...(account === undefined ? {} : { account }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

function sameText(one: string, other: string): boolean {
  const plain = (address: string): string => address.toLowerCase().replace(/\/+$/, '');
  return plain(one) === plain(other);
}

/** A part of an object may take so long. */
const REQUEST_MS = 120_000;

export function openAzureContainer(
  config: AzureConfig,
  context: Requesting & PartContext,
): Promise<ObjectStore> {
  const place = placeOf(withAccount(config, context.env));
  return openAzure(place, { requestMs: REQUEST_MS, run: runRequests(context) });
}

/** Other programs take the account from the same variables. */
const ACCOUNT_VARIABLES = ['AZURE_STORAGE_ACCOUNT_NAME', 'AZURE_STORAGE_ACCOUNT'];

function withAccount(config: AzureConfig, { variables }: Pick<Env, 'variables'>): AzureConfig {
  const { account, auth: who, endpoint, use_emulator: isEmulator } = config;
  if (account !== undefined || isEmulator || who?.type === 'connection_string') return config;
  if (endpoint !== undefined && who?.type !== 'account_key') return config;
  const [named] = ACCOUNT_VARIABLES.map((name) => variables[name]).filter(Boolean);
  if (named === undefined)
    throw new ConnectorError('missing', 'the storage account is not named', {
      hint: `set \`account\` or the variable ${ACCOUNT_VARIABLES[0]}, or use a connection string`,
    });
  return { ...config, account: named };
}

function placeOf(config: AzureConfig): AzurePlace {
  const { container, auth: who } = config;
  if (who?.type === 'connection_string')
    return { container, at: { connectionString: who.config.connection_string } };
  return { container, at: { endpoint: endpointOf(config), auth: authOf(config) } };
}

function endpointOf({ account, endpoint, use_emulator: isEmulator }: AzureConfig): string {
  if (!isEmulator) return endpoint ?? `https://${account}.blob.core.windows.net`;
  const url = new URL(endpoint ?? EMULATOR.endpoint);
  // An emulator has all accounts at one address.
  if (url.pathname === '/') url.pathname = `/${account ?? EMULATOR.account}`;
  return url.href;
}

function authOf({ account, auth: who, use_emulator: isEmulator }: AzureConfig): AzureAuth {
  if (who === undefined)
    return isEmulator
      ? { type: 'account_key', account: EMULATOR.account, key: EMULATOR.key }
      : { type: 'default' };
  switch (who.type) {
    case 'account_key':
      return { type: who.type, account: account ?? EMULATOR.account, key: who.config.account_key };
    case 'sas_token':
      return { type: who.type, token: who.config.sas_token };
    case 'managed_identity':
      return { type: who.type, clientId: who.config.client_id };
    case 'service_principal': {
      const { tenant_id: tenantId, client_id: clientId, client_secret: clientSecret } = who.config;
      return { type: who.type, tenantId, clientId, clientSecret };
    }
    default:
      return { type: 'default' };
  }
}

export function azureAddress(
  { container }: Pick<AzureConfig, 'container'>,
  prefix: string,
): string {
  return `az://${container}/${prefix}`;
}
