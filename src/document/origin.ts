import type { Issue } from '../lib/errors.ts';

/** Where a document came from. Composition from several files is possible only for files. */
export type Origin = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'submitted' };

/** Why `extends`, `profiles` or `!include` is refused. */
export function compositionRefusal(key: string, origin: Origin, place: Pick<Issue, 'path' | 'line' | 'column'>): Issue {
  if (origin.kind === 'submitted') {
    return {
      code: 'composition_file_only',
      message: `\`${key}\` is not possible in a submitted document: composition is for files only`,
      hint: 'submit one self-contained document',
      ...place,
    };
  }
  return {
    code: 'not_available',
    message: `this version does not compose documents from files yet, so \`${key}\` cannot be used`,
    hint: 'write the blocks into one file; YAML anchors work',
    ...place,
  };
}
