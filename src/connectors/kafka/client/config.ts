/** Logins and raw settings of the client. */
import { z } from 'zod';
import { finding, optional, text } from '../../../kit/schema.ts';
import { isObject } from '../../../lib/text/json.ts';
import { scalarText, spelled } from '../../_http/fields.ts';
import type { Doubt } from '../../../kit/source.ts';
import { FIELD_PROPERTIES, PROPERTIES_WITHOUT_EFFECT } from './properties-of-fields.ts';
import { PROPERTIES } from './properties.ts';

const AUTHS = ['none', 'sasl_plain', 'sasl_scram', 'ssl', 'sasl_ssl'] as const;

const login = () => ({
  username: text().meta({ description: 'User name.' }),
  password: z.string().meta({ description: 'Password.', secret: true }),
});

const plain = () => z.strictObject(login());

const scram = () =>
  z.strictObject({
    mechanism: z
      .preprocess(
        (value) => (typeof value === 'string' ? digestOf(value) : value),
        z.enum(['sha256', 'sha512']),
      )
      .meta({ description: 'Digest: `sha256` or `sha512`.' }),
    ...login(),
  });

const ssl = () =>
  z
    .strictObject({
      ca_path: optional(text()).meta({
        description:
          'PEM file of the authority that signed the brokers; unset: those of the system.',
      }),
      cert_path: optional(text()).meta({ description: 'PEM file of the client certificate.' }),
      key_path: optional(text()).meta({ description: 'PEM file of its private key.' }),
      key_password: optional(z.string()).meta({
        description: 'Password of the private key.',
        secret: true,
      }),
    })
    .superRefine(({ cert_path: cert, key_path: key }, ctx) => {
      if ((cert === undefined) === (key === undefined)) return;
      const path = [cert === undefined ? 'cert_path' : 'key_path'];
      ctx.addIssue(finding('missing_key', '`cert_path` and `key_path` need each other', { path }));
    });

const saslLogin = () =>
  z.preprocess(
    asSasl,
    z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('sasl_plain').meta({ description: 'Kind of login.' }),
        config: plain().meta({ description: 'The login.' }),
      }),
      z.strictObject({
        type: z.literal('sasl_scram').meta({ description: 'Kind of login.' }),
        config: scram().meta({ description: 'The login.' }),
      }),
    ]),
  );

const variant = <const T extends string, S extends z.ZodType>(type: T, config: S) =>
  z.strictObject({
    type: z.literal(type).meta({ description: 'Kind of login.' }),
    config: config.meta({ description: 'Fields of this kind of login.' }),
  });

export function kafkaAuth() {
  return optional(
    z.preprocess(
      asNested,
      z.discriminatedUnion('type', [
        variant(
          'none',
          z.preprocess((value) => value ?? {}, z.strictObject({})),
        ),
        variant('sasl_plain', plain()),
        variant('sasl_scram', scram()),
        variant('ssl', ssl()),
        variant(
          'sasl_ssl',
          z.strictObject({
            sasl: saslLogin().meta({ description: 'The login.' }),
            ssl: ssl()
              .prefault({})
              .meta({ description: 'Certificates; unset: those of the system.' }),
          }),
        ),
      ]),
    ),
  ).meta({ description: 'Login and encryption; unset: neither.' });
}

export type KafkaAuth = NonNullable<z.infer<ReturnType<typeof kafkaAuth>>>;
export type SaslLogin = z.infer<ReturnType<typeof saslLogin>>;
export type SslFiles = z.infer<ReturnType<typeof ssl>>;

const spell = spelled(AUTHS);

/** `sasl_plain`, `{type, username, …}` and `{type, config: {…}}` are the same. */
function asNested(value: unknown): unknown {
  if (typeof value === 'string') return { type: spell(value), config: {} };
  if (!isObject(value)) return value;
  const { type, config, ...flat } = value;
  const named = { type: spell(type) };
  if (config === undefined || config === null) return { ...named, config: flat };
  return { ...named, config, ...flat };
}

/** The mechanism says which it is where `type` does not. */
function asSasl(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { type, mechanism, ...rest } = value;
  const isScram =
    type === undefined && typeof mechanism === 'string' && digestOf(mechanism) !== 'plain';
  const given = type ?? (isScram ? 'sasl_scram' : 'sasl_plain');
  const known = given === 'plain' ? 'sasl_plain' : given === 'scram' ? 'sasl_scram' : given;
  const keepsMechanism = mechanism !== undefined && (isScram || known === 'sasl_scram');
  return asNested({ ...rest, type: known, ...(keepsMechanism ? { mechanism } : {}) });
}

/** `SCRAM-SHA-256` is `sha256`. */
function digestOf(mechanism: string): string {
  return mechanism
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/^scram/, '');
}

const KNOWN: Readonly<Record<string, { fault(value: string): string | undefined }>> = {
  ...PROPERTIES,
  ...FIELD_PROPERTIES,
};

export function extraClientConfig() {
  return z
    .preprocess((value) => value ?? {}, z.record(z.string(), scalarText()))
    .superRefine((properties, ctx) => {
      for (const [name, value] of Object.entries(properties)) {
        if (PROPERTIES_WITHOUT_EFFECT[name] !== undefined) continue;
        const property = KNOWN[name];
        const fault =
          property === undefined
            ? `\`${name}\` is no property of this client`
            : property.fault(value);
        if (fault === undefined) continue;
        const hint = `known are ${Object.keys(KNOWN).sort().join(', ')}`;
        ctx.addIssue(finding('invalid_value', fault, { path: [name], hint }));
      }
    })
    .meta({
      description:
        'Properties of the client by their usual names; they go before all other settings.',
      secret: true,
      advanced: true,
      examples: [{ 'client.id': 'nightly', 'fetch.max.bytes': 4194304 }],
    });
}

/** Properties that change nothing here. */
export function doubtsOfProperties({
  extra_client_config: properties,
}: {
  readonly extra_client_config: Readonly<Record<string, string>>;
}): readonly Doubt[] {
  return Object.keys(properties).flatMap((name) => {
    const reason = PROPERTIES_WITHOUT_EFFECT[name];
    if (reason === undefined) return [];
    return {
      code: 'without_effect',
      path: `extra_client_config[${JSON.stringify(name)}]`,
      message: `\`${name}\` changes nothing here: ${reason}`,
      hint: 'remove it',
    };
  });
}
