/**
 * Bounds on a document, so that a hostile or broken text is refused quickly instead of eating
 * memory.
 */
export const MAX_DOCUMENT_BYTES = 10 * 1024 * 1024;
export const MAX_DEPTH = 64;
/** Keys of one mapping. */
export const MAX_KEYS = 100_000;
export const TOO_MANY_KEYS = `a mapping has more than ${MAX_KEYS} keys`;
/** Nodes that aliases may add to those that stand in the text. */
export const MAX_ALIASED_NODES = 100_000;
/** Characters that `${…}` tokens may bring in altogether. */
export const MAX_TOKEN_TEXT = 10 * 1024 * 1024;
/** Characters of the name of a pipeline or a row: that of a submission is bounded as well. */
export const LONGEST_NAME = 256;
export const MAX_TOKEN_DEPTH = 16;
/** Size of what `${file:…}` reads; a larger file is an error, never cut. */
export const MAX_FILE_BYTES = 1024 * 1024;
/** `${vars.a}` → `${vars.b}` → …: steps before a value must be reached. */
export const MAX_REFERENCE_CHAIN = 64;
/** Levels of `extends` and `!include` below the document. */
export const MAX_COMPOSITION_DEPTH = 32;
/** Files one document may be composed from; a file counts as often as it is named. */
export const MAX_COMPOSED_FILES = 1000;
