/** What documents of other users may read from the process that executes them. */
import type { Issue } from './errors.ts';
import type { Log } from './log.ts';

export interface Access {
  readonly variables: VariableAccess;
  readonly files: FileAccess;
  /** Packages whose connectors documents may name; absent: none. */
  readonly connectors?: readonly string[];
}

/** For a process that runs documents of its own user. */
export const OPEN_ACCESS: Access = { variables: { credentials: [] }, files: { refused: [] } };

export interface VariableAccess {
  /** Names of variables with credentials of the server; never readable. */
  readonly credentials: readonly string[];
  /**
   * Patterns with `*` and `?`; a readable name must match one of them. Absent: every other name is
   * readable.
   */
  readonly allowed?: readonly string[];
}

export interface FileAccess {
  /** Absolute folder that must contain all files; absent: every folder is allowed. */
  readonly root?: string;
  /** Absolute paths of files that belong to the server. */
  readonly refused: readonly string[];
}

/** Why a document must not read a variable; undefined when it may. */
export function variableRefusal(
  name: string,
  { credentials, allowed }: VariableAccess,
): Omit<Issue, 'path'> | undefined {
  if (credentials.includes(name)) {
    return {
      code: 'variable_refused',
      message: `the environment variable \`${name}\` holds a credential of the server, which no document may read`,
      hint: 'give the document a credential of its own, under another name',
    };
  }
  if (allowed === undefined || allowed.some((pattern) => matches(name, pattern))) return undefined;
  return {
    code: 'variable_refused',
    message: `the environment variable \`${name}\` is not one that documents may read`,
    hint: 'ask the operator of the server to add it with `--allow-env`',
  };
}

function matches(name: string, pattern: string): boolean {
  const shape = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${shape}$`, 's').test(name);
}

/** Says what is open to documents although nobody asked for it. */
export function logAccess(log: Log, { variables, files }: Access): void {
  if (variables.allowed === undefined) {
    log.info('documents may read any environment variable but the credentials of the server', {
      hint: 'name those they need with --allow-env',
    });
  }
  if (files.root === undefined) {
    log.info('documents may read and write any file that this process may', {
      hint: 'name the folder of their files with --data-root',
    });
  }
}
