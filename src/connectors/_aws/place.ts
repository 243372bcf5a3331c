/** Where services of Amazon are asked, and who asks: the fields, and what they say. */
import { z } from 'zod';
import type { PartContext } from '../../kit/context.ts';
import { otherName } from '../../kit/other-name.ts';
import { optional, text } from '../../kit/schema.ts';
import type { AwsLogin, AwsPlace } from '../../lib/aws/client-settings.ts';
import { endpointUrl } from '../_http/fields.ts';

function login<const T extends string, S extends z.ZodType>(
  type: T,
  description: string,
  config: S,
) {
  return z.strictObject({ type: z.literal(type).meta({ description }), config });
}

const accessKey = () =>
  login(
    'access_key',
    'An access key.',
    z
      .strictObject({
        access_key_id: text().meta({ description: 'Id of the key.' }),
        secret_access_key: text().meta({ description: 'Its secret.', secret: true }),
        session_token: optional(text()).meta({
          description: 'The token of a temporary key.',
          secret: true,
        }),
      })
      .meta({ description: 'The key.' }),
  );

const profile = () =>
  login(
    'profile',
    'A profile of `~/.aws`, which may take a role (`role_arn`).',
    otherName(
      'profile',
      'name',
      z.strictObject({ name: text().meta({ description: 'Name of the profile.' }) }),
    ).meta({ description: 'The profile.' }),
  );

const assumeRole = () =>
  login(
    'assume_role',
    'A role that is taken by whoever the client finds, and taken again before it expires.',
    z
      .strictObject({
        role_arn: text().meta({ description: 'ARN of the role.' }),
        session_name: optional(text()).meta({
          description:
            'Name of the session, as logs of the account show it; `headgate` when absent.',
        }),
        external_id: optional(text()).meta({
          description: 'What the owner of the role wants to be told.',
        }),
      })
      .meta({ description: 'The role.' }),
  );

const webIdentity = () =>
  z.strictObject({
    type: z.literal('web_identity').meta({
      description: 'A role that is taken with the token of a file, as in Kubernetes.',
    }),
    config: optional(
      z.strictObject({
        role_arn: optional(text()).meta({
          description: 'ARN of the role; that of `AWS_ROLE_ARN` when absent.',
        }),
        token_file: optional(text()).meta({
          description: 'File with the token; that of `AWS_WEB_IDENTITY_TOKEN_FILE` when absent.',
        }),
        session_name: optional(text()).meta({ description: 'Name of the session.' }),
      }),
    ).meta({ description: 'The role.' }),
  });

const credentials = () =>
  z.preprocess(
    (value) => (typeof value === 'string' ? { type: value } : value),
    z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('default').meta({
          description:
            'What the client finds: variables, the profile, web identity, the role of the machine.',
        }),
        config: optional(z.strictObject({})).meta({ description: 'Empty.' }),
      }),
      accessKey(),
      profile(),
      assumeRole(),
      webIdentity(),
    ]),
  );

export interface AwsFields {
  readonly region?: string | undefined;
  readonly endpoint_url?: string | undefined;
  readonly credentials?: z.output<ReturnType<typeof credentials>> | undefined;
}

export function awsFields(region: string, endpoint = endpointUrl()) {
  return {
    region: optional(text()).meta({ description: region }),
    endpoint_url: endpoint,
    credentials: optional(credentials()).meta({ description: 'Who asks; `default` when absent.' }),
  };
}

export function awsPlace(fields: AwsFields, { env }: Pick<PartContext, 'env'>): AwsPlace {
  const { region, endpoint_url: endpoint, credentials: who } = fields;
  const found = loginOf(who);
  if (found?.type === 'keys')
    for (const secret of [found.keys.secretAccessKey, found.keys.sessionToken])
      if (secret !== undefined) env.redactor.register(secret);
  return { region, endpoint, login: found };
}

function loginOf(who: AwsFields['credentials']): AwsLogin | undefined {
  switch (who?.type) {
    case 'access_key': {
      const { access_key_id: id, secret_access_key: secret, session_token: token } = who.config;
      return {
        type: 'keys',
        keys: { accessKeyId: id, secretAccessKey: secret, sessionToken: token },
      };
    }
    case 'profile':
      return { type: 'profile', name: who.config.name };
    case 'assume_role': {
      const { role_arn: roleArn, session_name: sessionName, external_id: externalId } = who.config;
      return { type: 'role', roleArn, sessionName, externalId };
    }
    case 'web_identity': {
      const {
        role_arn: roleArn,
        token_file: tokenFile,
        session_name: sessionName,
      } = who.config ?? {};
      return { type: 'web_identity', roleArn, tokenFile, sessionName };
    }
    default:
      return undefined;
  }
}
