/**
 * Values from outside the document: variables, files, secrets. Each is known to the
 * redactor, and is plain data.
 */
import { variableRefusal, type VariableAccess } from '../../lib/access.ts';
import { fileFault, isFileFault } from '../../lib/files/file-fault.ts';
import { FileRefusedError } from '../../lib/files/file-access.ts';
import type { Registry } from '../../kit/parts.ts';
import type { SecretManagerDefinition } from '../../kit/secrets.ts';
import { NotRegularFileError } from '../../lib/files/regular-file.ts';
import type { Redactor } from '../../lib/redact.ts';
import type { ReadFile } from '../text/file-text.ts';
import { MAX_FILE_BYTES } from '../text/limits.ts';
import type { Report } from './param-tokens.ts';
import type { SecretAnswers, WantedSecret } from './secret-tokens.ts';
import { protectTokens, restoreEscapes, unfilled } from './tokens.ts';

export interface TokenSources {
  /** Environment variables that `${env:…}` and `${secret:…}` see. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Which of them may be read; absent: all. */
  readonly variableAccess?: VariableAccess;
  /**
   * Bytes of a file for `${file:…}`, at most `limitBytes` of them; throws when it cannot be read.
   */
  readonly readFile: ReadFile;
  /**
   * Names of pipelines and rows are labels that everybody may read: no value from outside of the
   * document can stand in them.
   */
  readonly publicNames?: boolean;
  /** Learns every value that came from the environment, a file or a secrets manager. */
  readonly redactor: Redactor;
  /** Those whose tokens are known; each says how its secrets are named. */
  readonly secretManagers: Registry<SecretManagerDefinition>;
  /**
   * What secrets managers said so far; `keep` leaves their tokens as they are. Without it such
   * tokens are refused.
   */
  readonly secrets?: SecretAnswers | 'keep';
  /**
   * As `secrets: 'keep'`, and `${secret:…}` stays as it is written, too: for whoever must touch no
   * secret.
   */
  readonly keepSecrets?: boolean;
  /**
   * `${env:…}` and `${file:…}` stay as they are written: the document is checked where it will not
   * be executed.
   */
  readonly keepOutside?: boolean;
}

/** Each gives the text to stand instead of its token; after a fault, which it reports, nothing. */
export class OutsideValues {
  /** Secrets to be asked for, by token. */
  readonly wanted = new Map<string, WantedSecret>();
  readonly #sources: TokenSources;
  readonly #report: Report;
  readonly #given: Readonly<Record<string, string>>;

  /** The variables `given` stand before those of the environment. */
  constructor(sources: TokenSources, report: Report, given: Readonly<Record<string, string>> = {}) {
    this.#sources = sources;
    this.#report = report;
    this.#given = given;
  }

  variable(prefix: 'env' | 'secret', name: string): string {
    if (name === '') {
      this.#report(
        'invalid_token',
        `\`\${${prefix}:}\` names no environment variable`,
        `write \`\${${prefix}:NAME}\``,
      );
      return '';
    }
    const { variables, variableAccess, keepSecrets, keepOutside } = this.#sources;
    const refusal = variableAccess && variableRefusal(name, variableAccess);
    if (refusal !== undefined) {
      this.#report(refusal.code, refusal.message, refusal.hint);
      return '';
    }
    if (prefix === 'env' && keepOutside === true) return `\${env:${name}}`;
    if (prefix === 'secret' && keepSecrets === true) return `\${secret:${name}}`;
    const set = Object.hasOwn(this.#given, name) ? this.#given : variables;
    const value = Object.hasOwn(set, name) ? set[name] : undefined;
    if (value !== undefined) return this.#data(value, `the environment variable \`${name}\``);
    this.#report(
      'missing_variable',
      `the environment variable \`${name}\` of \`\${${prefix}:${name}}\` is not set`,
      `set ${name} in the environment; on the command line a \`.env\` file in the current folder is read too`,
    );
    return '';
  }

  file(path: string): string {
    if (this.#sources.keepOutside === true) return `\${file:${path}}`;
    let bytes: Uint8Array;
    try {
      bytes = this.#sources.readFile(path, MAX_FILE_BYTES + 1);
    } catch (error) {
      if (error instanceof FileRefusedError) {
        this.#report('file_refused', `\`\${file:${path}}\`: ${error.message}`, error.hint);
        return '';
      }
      const why = whyUnreadable(error);
      this.#report(
        'file_unreadable',
        `the file \`${path}\` of \`\${file:${path}}\` cannot be read${why === undefined ? '' : `: ${why.says}`}`,
        why?.hint ?? 'relative paths start at the working folder',
      );
      return '';
    }
    if (bytes.byteLength > MAX_FILE_BYTES) {
      this.#report(
        'too_large',
        `the file \`${path}\` is larger than 1 MiB`,
        'a token is meant for a key or a short text',
      );
      return '';
    }
    return this.#data(new TextDecoder().decode(bytes).trimEnd(), `the file \`${path}\``);
  }

  /** The text of a secret; a mark in its place while it still has to be asked for. */
  secret({ type, form, parse }: SecretManagerDefinition, rest: string, path: string): string {
    const named = parse(restoreEscapes(rest));
    const token = `${type}:${rest}`;
    if (named === undefined) {
      this.#report(
        'invalid_token',
        `\`\${${token}}\` does not name a secret`,
        `write \`\${${type}:${form}}\``,
      );
      return '';
    }
    const { secrets, keepSecrets } = this.#sources;
    if (secrets === 'keep' || keepSecrets === true) return `\${${token}}`;
    if (secrets === undefined) {
      this.#report(
        'token_out_of_scope',
        `\`\${${token}}\`: secrets managers are not asked here`,
        'use `${env:…}` or `${file:…}`',
      );
      return '';
    }
    const answer = secrets.get(token);
    if (answer === undefined) {
      if (!this.wanted.has(token))
        this.wanted.set(token, { token, reference: { manager: type, ...named }, path });
      return unfilled(token);
    }
    if (answer.ok) return this.#data(answer.text, `the secret \`${token}\``);
    this.#report(answer.code, answer.message, answer.hint);
    return '';
  }

  #data(value: string, what: string): string {
    if (value.includes('\u0000')) {
      this.#report('bad_encoding', `${what} holds a NUL character`);
      return '';
    }
    const text = protectTokens(value);
    this.#sources.redactor.register(value);
    if (text !== value) this.#sources.redactor.register(text);
    return text;
  }
}

function whyUnreadable(
  error: unknown,
): { readonly says: string; readonly hint?: string | undefined } | undefined {
  if (error instanceof NotRegularFileError) return { says: error.message, hint: error.hint };
  return isFileFault(error) ? fileFault(error) : undefined;
}
