import type { Issue } from '../../lib/errors.ts';

/** Where a document came from. Composition from several files is possible only for files. */
export type Origin =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'submitted' };

/** Why `extends`, `profiles` or `!include` is refused in a submitted document. */
export function compositionRefusal(key: string, path: string): Issue {
  return {
    code: 'composition_file_only',
    path,
    message: `\`${key}\` is not possible in a submitted document: composition is for files only`,
    hint: 'submit one self-contained document; `headgate validate --show-composed` prints one',
  };
}
