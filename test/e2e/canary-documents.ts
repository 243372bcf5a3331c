/** Documents that are full of secrets, and end in every way a run can end. */
import { canary } from './canary-search.ts';

type Json = Record<string, unknown>;

/** Where a secret comes from, with the token or literal that brings it. */
export const TOKENS = {
  Env: '${env:C_ENV}',
  Secret: '${secret:C_SECRET}',
  Dotenv: '${env:C_DOTENV}',
  File: '${file:canary.txt}',
  Vault: '${vault:kv/data/app#key}',
  Aws: '${aws-sm:app#key}',
  Gcp: '${gcp-sm:projects/p/secrets/s/versions/latest}',
  Azure: '${azure-kv:team/app}',
  Param: '${param.hidden}',
  Vars: '${vars.hidden}',
} as const;
export type TokenPlace = keyof typeof TOKENS;

/** Secrets that stand in the documents as they are, or are made by others during a run. */
export const LITERALS = [
  'Static',
  'Basic',
  'Header',
  'Query',
  'Client',
  'Refresh',
  'Login',
  'Access',
  'Rotated',
  'Url',
  'Pguser',
  'Redis',
  'Mask',
  'Admin',
];
export const PLACES: readonly string[] = [...Object.keys(TOKENS), ...LITERALS];

const RECORDS = { type: 'jsonl', config: { path: 'in.jsonl' } };
const OUT = { type: 'jsonl', config: { path: 'out.jsonl' } };
const password = (place: string): string => encodeURIComponent(canary(place));

function document(pipeline: Json, rest: Json = {}): Json {
  const params = { hidden: { secret: true, default: '${env:C_PARAM}' } };
  return {
    version: 1,
    name: 'canary',
    params,
    vars: { hidden: '${env:C_VARS}' },
    ...rest,
    pipeline: { source: RECORDS, sink: OUT, ...pipeline },
  };
}

/** Requests of an API that answers with everything it was sent. */
function apiDocuments(api: string): Record<string, Json> {
  const rest = (path: string, config: Json, more: Json = {}): Json =>
    document(
      { source: { type: 'rest', config: { base_url: api, path, max_retries: 0, ...config } } },
      more,
    );
  const auth = (type: string, config: Json): Json => ({ auth: { login: { type, config } } });
  const login = { auth: { ref: 'login' } };
  const client = { token_url: `${api}/token`, client_id: 'me', client_secret: canary('Client') };
  const logins: Record<string, Json> = {
    static: auth('static', { token: canary('Static').replaceAll(/[^!-~]/g, '') }),
    header: auth('static', { header: 'X-Key', value: canary('Header').replaceAll(/[^!-~]/g, '') }),
    basic: auth('static', { username: 'me', password: canary('Basic') }),
    oauth2: auth('oauth2', client),
    refresh: auth('oauth2_refresh', {
      ...client,
      refresh_token: canary('Refresh'),
      persist: { path: 'persisted.json' },
    }),
    endpoint: auth('token_endpoint', {
      url: `${api}/token`,
      body: { password: canary('Login') },
      token_path: '$.access_token',
    }),
    deniedOauth2: auth('oauth2', { ...client, token_url: `${api}/refuse/401` }),
    deniedRefresh: auth('oauth2_refresh', {
      ...client,
      token_url: `${api}/refuse/500`,
      refresh_token: canary('Refresh'),
    }),
    deniedEndpoint: auth('token_endpoint', {
      url: `${api}/refuse/400`,
      body: { password: canary('Login') },
      token_path: '$.x',
    }),
    wrongEndpoint: auth('token_endpoint', {
      url: `${api}/token`,
      body: { password: canary('Login') },
      token_path: '$.nothing',
    }),
  };
  const made: Record<string, Json> = {};
  for (const [name, block] of Object.entries(logins)) {
    for (const path of [
      '/records',
      '/refuse/401',
      '/refuse/500',
      '/redirect',
      '/cut',
      '/garbage',
    ]) {
      if (path !== '/records' && path !== '/refuse/401' && name !== 'basic' && name !== 'oauth2')
        continue;
      made[`${name}-${path.slice(1).replaceAll('/', '-')}`] = rest(path, login, block);
    }
  }
  const inline = { type: 'api_key_query', config: { param: 'key', value: canary('Query') } };
  for (const path of ['/refuse/403', '/cut', '/garbage'])
    made[`query-${path.slice(1).replaceAll('/', '-')}`] = rest(path, { auth: inline });
  made['url-login'] = rest('/refuse/401', {
    base_url: api.replace('://', `://me:${password('Url')}@`),
  });
  made['url-nobody'] = rest('/x', { base_url: `http://me:${password('Url')}@127.0.0.1:1` });
  for (const [place, token] of Object.entries(TOKENS)) {
    made[`api-${place}`] = rest('/refuse/400', {
      query_params: { q: `x${token}y` },
      body: { deep: [token] },
      method: 'POST',
    });
  }
  return made;
}

/** Secrets in places where a message would like to repeat them. */
function placedDocuments(): Record<string, Json> {
  const made: Record<string, Json> = {};
  for (const [place, token] of Object.entries(TOKENS)) {
    made[`path-${place}`] = document({
      source: { type: 'jsonl', config: { path: `in-${token}.jsonl` } },
    });
    made[`type-${place}`] = document({ source: { type: token, config: {} } });
    made[`value-${place}`] = document({
      source: { type: 'jsonl', config: { path: 'in.jsonl', batch_size: token } },
      dlq: { sink: { type: 'jsonl', config: { path: token } } },
    });
    made[`filter-${place}`] = document({
      transforms: [{ type: 'filter', config: { path: `$.${token}[`, op: 'exists' } }],
    });
    made[`fine-${place}`] = document({
      transforms: [{ type: 'hash', config: { fields: ['id'], salt: token } }],
    });
  }
  made['pattern'] = document({
    transforms: [{ type: 'rename_keys', config: { pattern: `(${TOKENS.Env}`, replacement: 'x' } }],
  });
  made['key'] = document({
    transforms: [{ type: 'set', config: { values: { a: 1 }, [TOKENS.Env]: 1 } }],
  });
  made['cast'] = document({
    transforms: [
      { type: 'set', config: { values: { n: TOKENS.Vault } } },
      { type: 'cast', config: { fields: { n: 'int' } } },
    ],
  });
  made['cast-file'] = document({
    transforms: [
      { type: 'set', config: { values: { n: TOKENS.File } } },
      { type: 'cast', config: { fields: { n: 'float' } } },
    ],
  });
  made['masked'] = document({
    masking: {
      key: canary('Mask'),
      rules: [{ match: { fields: ['id'] }, action: { type: 'hash' } }],
    },
  });
  made['dead'] = document({
    transforms: [{ type: 'set', config: { values: { email: 'nobody' } } }],
    contract: {
      version: '1',
      on_breach: 'quarantine',
      fields: [
        { name: 'email', type: 'string', pattern: `^${TOKENS.Env.replace('C_ENV', 'C_PLAIN')}$` },
      ],
    },
    dlq: { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } } },
  });
  return made;
}

/** Databases that are not there, or not as they are named. */
function databaseDocuments(): Record<string, Json> {
  const postgres = (url: string): Json =>
    document({ source: { type: 'postgres', config: { connection_url: url, query: 'select 1' } } });
  const made: Record<string, Json> = {
    'pg-nobody': postgres(`postgres://me:${password('Pguser')}@127.0.0.1:1/db`),
    'pg-no-address': postgres(`postgres://me:${password('Pguser')}@[db/x`),
    'pg-other': postgres(`mysql://me:${password('Pguser')}@127.0.0.1:1/db`),
    'pg-env': postgres('postgres://me:${env:C_URLPASS}@127.0.0.1:1/db'),
    'pg-whole': postgres('${env:C_PGURL}'),
    'redis-nobody': document({
      state: { type: 'redis', config: { url: `redis://me:${password('Redis')}@127.0.0.1:1/0` } },
    }),
    'redis-no-address': document({
      state: { type: 'redis', config: { url: `redis//me:${password('Redis')}@127.0.0.1:1/0` } },
    }),
  };
  made['rows'] = {
    ...document({ dlq: { sink: { type: 'jsonl', config: { path: 'dead-rows.jsonl' } } } }),
    matrix: Object.values(TOKENS).map((token, index) => ({
      id: `r${index}`,
      source: { config: { path: index % 2 === 0 ? 'in.jsonl' : `${token}.jsonl` } },
      sink: { config: { path: `out-${index}.jsonl` } },
    })),
  };
  return made;
}

/** Those who are told of a run repeat what they were sent, or keep it in files. */
function toldDocuments(api: string): Record<string, Json> {
  const refuse = `${api}/refuse/500`;
  const login = api.replace('://', `://me:${password('Url')}@`);
  const salted = {
    transforms: [{ type: 'hash', config: { fields: ['name'], salt: TOKENS.Vault } }],
  };
  const failing = { source: { type: 'jsonl', config: { path: `in-${TOKENS.Env}.jsonl` } } };
  const webhook = {
    url: `${refuse}?key=${TOKENS.Env}`,
    headers: { 'X-Key': TOKENS.Vault },
    hmac_secret: TOKENS.Aws,
  };
  const receivers = {
    lineage: {
      namespace: 'canary',
      transport: {
        type: 'http',
        config: {
          url: `${login}/refuse/500?token=${TOKENS.Env}`,
          auth: { type: 'bearer', config: { token: TOKENS.Vault } },
        },
      },
      include_source_code_facet: true,
    },
    catalog: { url: '${env:C_PGURL}' },
    observability: {
      otel: {
        endpoint: `${login}/refuse/500`,
        protocol: 'http',
        headers: { 'x-key': TOKENS.Aws },
        timeout_secs: 1,
      },
    },
    notifications: [
      { name: 'hook', channel: { type: 'webhook', config: webhook } },
      {
        name: 'chat',
        channel: { type: 'slack', config: { webhook_url: `${refuse}?key=${password('Static')}` } },
      },
      {
        name: 'pager',
        channel: { type: 'pagerduty', config: { routing_key: canary('Header'), endpoint: refuse } },
      },
    ],
  };
  const files = {
    lineage: {
      namespace: 'canary',
      transport: { type: 'file', config: { path: 'lineage.jsonl' } },
      include_source_code_facet: true,
    },
    catalog: { url: 'sqlite:catalog.db' },
  };
  return {
    'told-success': document(salted, receivers),
    'told-failure': document({ ...salted, ...failing }, receivers),
    'kept-success': document(salted, files),
    'kept-failure': document({ ...salted, ...failing }, files),
  };
}

export function canaryDocuments(api: string): Record<string, Json> {
  return {
    ...apiDocuments(api),
    ...placedDocuments(),
    ...databaseDocuments(),
    ...toldDocuments(api),
  };
}
