/** Who asks a service of Google Cloud: one field, spelled the same way for all of them. */
import { z } from 'zod';
import type { PartContext } from '../../kit/context.ts';
import { text } from '../../kit/schema.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { readRegular } from '../../lib/files/regular-file.ts';
import { defaultProject, type GcsAuth } from '../../lib/objects/gcs-login.ts';
import { isObject, parseJson, type JsonValue } from '../../lib/text/json.ts';
import { resolvePath } from '../_files/paths.ts';
import { spelled } from '../_http/fields.ts';

/** `anonymous`: what that kind of login is for. The key of an account has two names each way. */
export const googleAuth = (anonymous: string) => z.preprocess(nested, kinds(anonymous));

const kinds = (anonymous: string) =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('application_default').meta({
        description:
          'What the machine has: the file of GOOGLE_APPLICATION_CREDENTIALS, the login of the gcloud tool, or the account of the machine.',
      }),
    }),
    z.strictObject({
      type: z.literal(['service_account_json_file', 'service_account_key_path']).meta({
        description: 'The key of a service account, in a file. Both names mean the same.',
      }),
      config: z
        .strictObject({ path: text().meta({ description: 'The file.' }) })
        .meta({ description: 'Where the key is.' }),
    }),
    z.strictObject({
      type: z
        .literal(['service_account_json_inline', 'service_account_key'])
        .meta({ description: 'The key of a service account. Both names mean the same.' }),
      config: z
        .strictObject({
          json: z
            .preprocess((value) => (isObject(value) ? JSON.stringify(value) : value), text())
            .meta({ description: 'The key, as text or as an object.', secret: true }),
        })
        .meta({ description: 'The key.' }),
    }),
    z.strictObject({
      type: z.literal('anonymous').meta({ description: anonymous }),
    }),
  ]);

export type GoogleAuth = z.output<ReturnType<typeof googleAuth>>;

const spell = spelled([
  'application_default',
  'service_account_json_file',
  'service_account_key_path',
  'service_account_json_inline',
  'service_account_key',
  'anonymous',
]);

/** `anonymous`, `{type, path}` and `{type, config: {path}}` are taken. */
function nested(value: unknown): unknown {
  if (typeof value === 'string') return { type: spell(value) };
  if (!isObject(value)) return value;
  const { type, ...rest } = value;
  const isFlat = !('config' in rest) && Object.keys(rest).length > 0;
  return { type: spell(type), ...(isFlat ? { config: rest } : rest) };
}

const LONGEST_KEY_BYTES = 1024 * 1024;

/** With the key that the config names; its secrets are kept out of everything that is shown. */
export async function googleAccount(
  auth: GoogleAuth,
  { env }: Pick<PartContext, 'env'>,
): Promise<GcsAuth> {
  switch (auth.type) {
    case 'application_default':
    case 'anonymous':
      return { type: auth.type };
    case 'service_account_json_inline':
    case 'service_account_key':
      env.redactor.register(auth.config.json);
      return registered(accountOf(auth.config.json, '`auth.config.json`'), env);
    case 'service_account_json_file':
    case 'service_account_key_path': {
      const { path } = auth.config;
      return registered(accountOf(await keyIn(resolvePath(env.cwd, path), path), path), env);
    }
    default:
      return auth satisfies never;
  }
}

/** The project that the login belongs to, where it tells one. */
export async function projectOfLogin(
  auth: GoogleAuth,
  context: Pick<PartContext, 'env'>,
): Promise<string | undefined> {
  const account = await googleAccount(auth, context);
  if (account.type === 'service_account') return account.project;
  return account.type === 'application_default' ? defaultProject() : undefined;
}

function registered(account: GcsAuth, { redactor }: PartContext['env']): GcsAuth {
  if (account.type === 'service_account') redactor.register(account.key);
  return account;
}

/** `shown`: the path as it is written, for messages. */
async function keyIn(path: string, shown: string): Promise<string> {
  try {
    return (await readRegular(path, { limitBytes: LONGEST_KEY_BYTES })).toString('utf8');
  } catch (error) {
    throw new ConnectorError('auth', `the key ${shown} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Other kinds of credentials name files, programs and addresses that are asked for a token: those
 * are for whoever runs this machine, and not for documents.
 */
function accountOf(content: string, place: string): GcsAuth {
  const key = keyOf(content);
  const {
    client_email: email,
    private_key: secret,
    private_key_id: keyId,
    project_id: project,
  } = key;
  if (key['type'] !== 'service_account' || typeof email !== 'string' || typeof secret !== 'string')
    throw new ConnectorError('auth', `${place} is not the key of a service account`, {
      hint: 'download a JSON key of the account; for anything else set GOOGLE_APPLICATION_CREDENTIALS and `type: application_default`',
    });
  return {
    type: 'service_account',
    email,
    key: secret,
    keyId: typeof keyId === 'string' ? keyId : undefined,
    project: typeof project === 'string' ? project : undefined,
  };
}

function keyOf(content: string): Readonly<Record<string, JsonValue>> {
  try {
    const value = parseJson(content);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
