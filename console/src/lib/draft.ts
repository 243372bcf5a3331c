/** The document that was last written in this tab. */
const KEY = 'headgate.document';

export function readDraft(): string {
  return sessionStorage.getItem(KEY) ?? '';
}

export function keepDraft(text: string): void {
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // A document of many megabytes has no room there; it stays on the page.
  }
}
