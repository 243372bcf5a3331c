/** Sentences as comments of YAML: one line each, whatever characters they hold. */
export function commentLines(sentences: readonly string[], indent = ''): string[] {
  return sentences.map((sentence) =>
    `${indent}# ${sentence.replaceAll(/[\p{Cc}\s]+/gu, ' ')}`.trimEnd(),
  );
}
