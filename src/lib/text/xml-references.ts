/** References in XML text (https://www.w3.org/TR/xml/#sec-references). */

const PREDEFINED: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
};
/** A document that repeats a long entity could make any amount of text of a few bytes. */
const MAX_EXPANDED = 10_000_000;
const REFERENCE = /&(#[0-9]+|#x[0-9A-Fa-f]+|[^\s&;<]+);/g;

/** Takes the place of the parser's own decoder, which leaves what it does not know. */
export class XmlReferences {
  #declared = new Map<string, string>();
  #expanded = 0;

  setExternalEntities(): void {}

  setXmlVersion(): void {}

  reset(): void {
    this.#declared = new Map();
    this.#expanded = 0;
  }

  /** What the document type declares; the parser takes no entities inside entities. */
  addInputEntities(entities: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(entities)) {
      const text = typeof value === 'string' ? value : (value as { val?: unknown }).val;
      if (typeof text === 'string') this.#declared.set(name, text);
    }
  }

  /** Throws on an entity that is not defined. */
  decode(text: string): string {
    if (!text.includes('&')) return text;
    return text.replaceAll(REFERENCE, (_all, name: string) => this.#value(name));
  }

  #value(name: string): string {
    if (name.startsWith('#')) return characterOf(name);
    const known = Object.hasOwn(PREDEFINED, name) ? PREDEFINED[name] : undefined;
    if (known !== undefined) return known;
    const declared = this.#declared.get(name);
    if (declared === undefined) throw new Error(`the entity \`&${name};\` is not defined`);
    this.#expanded += declared.length;
    if (this.#expanded > MAX_EXPANDED)
      throw new Error(`the entity \`&${name};\` makes too much text`);
    return declared;
  }
}

const MAX_CODE = 0x10ffff;

function characterOf(name: string): string {
  const code = name.startsWith('#x')
    ? Number.parseInt(name.slice(2), 16)
    : Number.parseInt(name.slice(1), 10);
  const isCharacter = code > 0 && code <= MAX_CODE && !(code >= 0xd800 && code <= 0xdfff);
  if (!isCharacter) throw new Error(`\`&${name};\` is no character`);
  return String.fromCodePoint(code);
}
