import { isHttpUrl } from '../lib/http/http-url.ts';
import { ConnectorError } from '../lib/errors.ts';
import { isObject, parseJson, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { readLimited } from '../lib/http/response-text.ts';
import { defineSecretManager, type SecretContext } from '../kit/secrets.ts';
import { nameWithField } from './names.ts';
import { setting, vendorError } from './vendor.ts';
import { kindOfStatus } from '../lib/http/status-kind.ts';

const LONGEST_ANSWER_BYTES = 2 * 1024 * 1024;

interface Connection {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
}

export const vault = defineSecretManager({
  type: 'vault',
  description:
    'Version 2 of the key-value store of HashiCorp Vault or OpenBao; the path is written with its `data/` segment.',
  form: '<path>[#field]',
  parse: nameWithField(/^[^/\s]+(?:\/[^/\s]+)*$/),
  settings: [
    {
      name: 'VAULT_ADDR',
      description: 'Address of the server, e.g. `https://vault.example.com:8200`.',
    },
    { name: 'VAULT_TOKEN', description: 'Token that may read the secrets.' },
    { name: 'VAULT_NAMESPACE', description: 'Namespace, where the server has them.' },
  ],
  open: (context) => {
    const connect = (): Connection => connectionOf(context);
    return Promise.resolve({
      read: async (name, signal) => valueOf(await ask(name, connect(), signal)),
      close: () => Promise.resolve(),
    });
  },
});

function connectionOf({ env: { variables, fetch, redactor } }: SecretContext): Connection {
  const address = setting(variables, 'VAULT_ADDR');
  const token = setting(variables, 'VAULT_TOKEN');
  if (address === undefined || token === undefined) {
    const name = address === undefined ? 'VAULT_ADDR' : 'VAULT_TOKEN';
    throw new ConnectorError('auth', `the environment variable \`${name}\` is not set`, {
      hint: 'set VAULT_ADDR and VAULT_TOKEN',
    });
  }
  if (!isHttpUrl(address)) {
    throw new ConnectorError('auth', 'VAULT_ADDR is not an http or https address', {
      hint: 'e.g. `https://vault.example.com:8200`',
    });
  }
  redactor.register(token);
  const namespace = setting(variables, 'VAULT_NAMESPACE');
  return {
    address: address.replace(/\/+$/, ''),
    headers: {
      accept: 'application/json',
      'x-vault-request': 'true',
      'x-vault-token': token,
      ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
    },
    fetch,
  };
}

/** The answer to a read; `undefined` when there is no such secret. */
async function ask(
  name: string,
  { address, headers, fetch }: Connection,
  signal: AbortSignal,
): Promise<JsonValue | undefined> {
  const segments = name.split('/');
  if (segments.includes('.') || segments.includes('..')) return undefined;
  const url = `${address}/v1/${segments.map(encodeURIComponent).join('/')}`;
  let response: Response;
  let text: string | undefined;
  try {
    // A redirect would carry the token to another host.
    response = await fetch(url, { headers, redirect: 'manual', signal });
    text = await readLimited(response, LONGEST_ANSWER_BYTES);
  } catch (error) {
    throw vendorError(error, { hint: 'check VAULT_ADDR' });
  }
  if (response.status === 404) return undefined;
  if (!response.ok) throw refusalOf(response.status);
  if (text === undefined)
    throw new ConnectorError('data', `the answer is larger than ${LONGEST_ANSWER_BYTES} bytes`);
  try {
    return parseJson(text);
  } catch (error) {
    throw new ConnectorError('data', 'the answer is not JSON', {
      hint: 'check VAULT_ADDR',
      cause: error,
    });
  }
}

function refusalOf(status: number): ConnectorError {
  if (status >= 300 && status < 400) {
    const hint =
      'VAULT_ADDR should name the active server; redirects are not followed because the request holds the token';
    return new ConnectorError('refused', `the server answers with a redirect (${status})`, {
      status,
      hint,
    });
  }
  const kind = kindOfStatus(status);
  const hint =
    kind === 'auth' ? 'check VAULT_TOKEN, VAULT_NAMESPACE and the policy of the token' : undefined;
  const why = status === 503 ? ' (sealed, or not ready)' : '';
  return new ConnectorError(kind, `the server answers ${status}${why}`, {
    status,
    ...(hint === undefined ? {} : { hint }),
  });
}

function valueOf(answer: JsonValue | undefined): JsonObject {
  const outer = isObject(answer) ? answer['data'] : undefined;
  const inner = isObject(outer) ? outer['data'] : undefined;
  if (isObject(inner)) return inner;
  const isFirstVersion = isObject(outer) && inner === undefined;
  throw new ConnectorError(
    'missing',
    isFirstVersion
      ? 'the answer is not a secret of a key-value store of version 2'
      : 'there is no such secret',
    {
      hint: 'write the path with its `data/` segment, e.g. `secret/data/orders`; a deleted version is not read',
    },
  );
}
