/** The text behind percent encoding; a `%` that does not start a code is an ordinary character. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
