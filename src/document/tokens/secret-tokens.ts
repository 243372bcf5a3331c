import type { SecretName } from '../../kit/secrets.ts';

/** What `${vault:…}` and its like name. */
export interface SecretReference extends SecretName {
  /** Type of the secrets manager. */
  readonly manager: string;
}

/** A secret that a document needs, with the first place where it does. */
export interface WantedSecret {
  /** The body of the token, as written in the document. */
  readonly token: string;
  readonly reference: SecretReference;
  readonly path: string;
}

export type SecretAnswer =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly hint?: string };

/** What secrets managers said, by token. */
export type SecretAnswers = ReadonlyMap<string, SecretAnswer>;
