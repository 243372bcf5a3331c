/** What `${vault:…}` and its like name. Which of them can be read is the matter of others. */
export interface SecretReference {
  readonly manager: SecretManager;
  /** Path, name or resource, without the field. */
  readonly name: string;
  /** Key of the secret when that is read as a JSON object. */
  readonly field: string | undefined;
}

interface Grammar {
  readonly form: string;
  readonly hasField: boolean;
  readonly name: RegExp;
}

const GRAMMARS = {
  vault: { form: '${vault:<path>[#field]}', hasField: true, name: /^[^/\s]+(?:\/[^/\s]+)*$/ },
  'aws-sm': { form: '${aws-sm:<name or ARN>[#field]}', hasField: true, name: /^\S+$/ },
  'gcp-sm': {
    form: '${gcp-sm:projects/<project>/secrets/<secret>/versions/<version>}',
    hasField: false,
    name: /^projects\/[^/\s]+\/secrets\/[^/\s]+\/versions\/[^/\s]+$/,
  },
  'azure-kv': { form: '${azure-kv:<vault>/<secret>[/<version>]}', hasField: false, name: /^[^/\s]+\/[^/\s]+(?:\/[^/\s]+)?$/ },
} as const satisfies Readonly<Record<string, Grammar>>;

export type SecretManager = keyof typeof GRAMMARS;
export const SECRET_MANAGERS = Object.keys(GRAMMARS) as readonly SecretManager[];

export function isSecretManager(prefix: string): prefix is SecretManager {
  return Object.hasOwn(GRAMMARS, prefix);
}

/** `undefined` when the text is not of the form of this manager. */
export function readSecretReference(manager: SecretManager, rest: string): SecretReference | undefined {
  const grammar: Grammar = GRAMMARS[manager];
  const hash = grammar.hasField ? rest.indexOf('#') : -1;
  const name = hash === -1 ? rest : rest.slice(0, hash);
  const field = hash === -1 ? undefined : rest.slice(hash + 1);
  return !grammar.name.test(name) || name.includes('#') || field === '' ? undefined : { manager, name, field };
}

export function formOf(manager: SecretManager): string {
  return GRAMMARS[manager].form;
}
