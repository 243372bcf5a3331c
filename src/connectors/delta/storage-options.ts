/** `storage_options`: settings of the store as text, by the names that other programs for Delta use. */

export type StoreKind = 's3' | 'gs' | 'abfss';

/** Each setting with its names; case does not count. */
const NAMES: Readonly<Record<StoreKind, Readonly<Record<string, readonly string[]>>>> = {
  s3: {
    accessKeyId: ['aws_access_key_id', 'access_key_id'],
    secretAccessKey: ['aws_secret_access_key', 'secret_access_key'],
    sessionToken: ['aws_session_token', 'aws_token', 'session_token', 'token'],
    region: ['aws_region', 'aws_default_region', 'region', 'default_region'],
    endpoint: [
      'aws_endpoint_url_s3',
      'aws_endpoint_url',
      'aws_endpoint',
      'endpoint_url',
      'endpoint',
    ],
    allowHttp: ['aws_allow_http', 'allow_http'],
    hostStyle: ['aws_virtual_hosted_style_request', 'virtual_hosted_style_request'],
    conditionalPut: ['aws_conditional_put', 'conditional_put'],
  },
  gs: {
    accountPath: [
      'google_service_account',
      'google_service_account_path',
      'service_account',
      'service_account_path',
      'google_application_credentials',
      'application_credentials',
    ],
    accountKey: ['google_service_account_key', 'service_account_key'],
    anonymous: ['google_skip_signature', 'skip_signature'],
    endpoint: ['google_base_url', 'base_url'],
  },
  abfss: {
    account: ['azure_storage_account_name', 'account_name'],
    accessKey: [
      'azure_storage_account_key',
      'azure_storage_access_key',
      'azure_storage_master_key',
      'account_key',
      'access_key',
      'master_key',
    ],
    sasToken: ['azure_storage_sas_token', 'azure_storage_sas_key', 'sas_token', 'sas_key'],
    clientId: ['azure_storage_client_id', 'azure_client_id', 'client_id'],
    clientSecret: ['azure_storage_client_secret', 'azure_client_secret', 'client_secret'],
    tenantId: [
      'azure_storage_tenant_id',
      'azure_storage_authority_id',
      'azure_tenant_id',
      'tenant_id',
      'authority_id',
    ],
    endpoint: ['azure_storage_endpoint', 'azure_endpoint', 'endpoint'],
    allowHttp: ['azure_allow_http', 'allow_http'],
    emulator: ['azure_storage_use_emulator', 'use_emulator'],
  },
};

/** Settings that would have no effect here, or a dangerous one. */
const REFUSED: Readonly<Record<string, string>> = {
  aws_s3_locking_provider:
    'commits are made by conditional requests here, which writers that lock with DynamoDB do not see',
  aws_s3_allow_unsafe_rename: 'commits are made by conditional requests here, never by renaming',
};

const SWITCHES = new Set(['allowHttp', 'hostStyle', 'anonymous', 'emulator']);

export interface OptionFault {
  readonly option: string;
  readonly message: string;
  readonly hint: string;
}

export interface StoreOptions {
  /** By the names of `NAMES`; switches are `true` or `false`. */
  readonly given: Readonly<Record<string, string>>;
  readonly faults: readonly OptionFault[];
}

export function readStoreOptions(
  kind: StoreKind,
  options: Readonly<Record<string, string>> = {},
): StoreOptions {
  const given: Record<string, string> = {};
  const faults: OptionFault[] = [];
  const known = Object.entries(NAMES[kind]);
  for (const [option, value] of Object.entries(options)) {
    const name = option.toLowerCase();
    const setting = known.find(([, names]) => names.includes(name))?.[0];
    const fault = faultOf({ kind, name, setting, value });
    if (fault !== undefined) faults.push({ option, ...fault });
    else if (setting !== undefined)
      given[setting] = SWITCHES.has(setting) ? value.toLowerCase() : value;
  }
  return { given, faults };
}

interface Option {
  readonly kind: StoreKind;
  readonly name: string;
  readonly setting: string | undefined;
  readonly value: string;
}

function faultOf({ kind, name, setting, value }: Option): Omit<OptionFault, 'option'> | undefined {
  const why = REFUSED[name];
  if (why !== undefined)
    return { message: `this option cannot be used: ${why}`, hint: 'remove it' };
  if (setting === undefined) {
    const names = Object.values(NAMES[kind]).map(([first]) => `\`${first}\``);
    return {
      message: `there is no such option for ${kind}`,
      hint: `known are ${names.join(', ')}, and the short forms of these`,
    };
  }
  if (SWITCHES.has(setting) && !/^(?:true|false)$/i.test(value))
    return { message: 'this is neither `true` nor `false`', hint: 'write one of them' };
  if (setting === 'conditionalPut' && value !== 'etag')
    return {
      message: 'commits need conditional requests',
      hint: 'remove the option, or set it to `etag`',
    };
  return undefined;
}
