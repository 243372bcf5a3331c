/** Texts of tokens that were resolved before, and which of them hold a value from outside. */
export class ResolvedTokens {
  readonly #texts = new Map<string, string>();
  readonly #fromOutside = new Set<string>();
  /** Whether the text being filled in holds a value from outside of the document. */
  holdsOutside = false;

  known(body: string): string | undefined {
    if (this.#fromOutside.has(body)) this.holdsOutside = true;
    return this.#texts.get(body);
  }

  remember(body: string, text: string): void {
    this.#texts.set(body, text);
  }

  /** Resolves a token, and notes whether what it stands for came from outside. */
  traced(body: string, resolve: () => string): string {
    const before = this.holdsOutside;
    this.holdsOutside = false;
    const text = resolve();
    if (this.holdsOutside) this.#fromOutside.add(body);
    this.holdsOutside ||= before;
    return text;
  }
}
