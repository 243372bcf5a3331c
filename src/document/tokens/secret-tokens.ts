/** What `${vault:…}` and its like name. Which of them can be read is the matter of others. */
export interface SecretReference {
  readonly manager: SecretManagerName;
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
  'azure-kv': {
    form: '${azure-kv:<vault>/<secret>[/<version>]}',
    hasField: false,
    name: /^[^/\s]+\/[^/\s]+(?:\/[^/\s]+)?$/,
  },
} as const satisfies Readonly<Record<string, Grammar>>;

export type SecretManagerName = keyof typeof GRAMMARS;
export const SECRET_MANAGERS = Object.keys(GRAMMARS) as readonly SecretManagerName[];

export function isSecretManager(prefix: string): prefix is SecretManagerName {
  return Object.hasOwn(GRAMMARS, prefix);
}

/** `undefined` when the text is not of the form of this manager. */
export function readSecretReference(
  manager: SecretManagerName,
  rest: string,
): SecretReference | undefined {
  const grammar: Grammar = GRAMMARS[manager];
  const hash = grammar.hasField ? rest.indexOf('#') : -1;
  const name = hash === -1 ? rest : rest.slice(0, hash);
  const field = hash === -1 ? undefined : rest.slice(hash + 1);
  return !grammar.name.test(name) || name.includes('#') || field === ''
    ? undefined
    : { manager, name, field };
}

export function formOf(manager: SecretManagerName): string {
  return GRAMMARS[manager].form;
}

/** A secret that a document needs, with the first place where it does. */
export interface WantedSecret {
  /** The body of the token, as it stands in the document. */
  readonly token: string;
  readonly reference: SecretReference;
  readonly path: string;
}

export type SecretAnswer =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly hint?: string };

/** What secrets managers said, by token. */
export type SecretAnswers = ReadonlyMap<string, SecretAnswer>;
