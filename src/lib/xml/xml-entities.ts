/** The entities of an XML document. */
import { characterOf, declarationsOf, withCharacters } from './xml-doctype.ts';
import { endOfDoctype, replaceReferences } from './xml-scan.ts';

const PREDEFINED: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
};
/** A short document that refers to a long entity many times could make any amount of text. */
const MAX_EXPANDED = 10_000_000;
const DECLARATION = /^<!ENTITY\s+([^\s%"'<>]+)\s+(?:"([^"]*)"|'([^']*)')\s*>$/;

/** The entities of one document: the predefined ones and those that its DOCTYPE declares. */
export class Entities {
  readonly #declared = new Map<string, string>();
  #expanded = 0;

  /** `text` is that of a DOCTYPE. */
  declare(text: string): void {
    for (const declaration of declarationsOf(text)) {
      const [, name = '', double, single] = DECLARATION.exec(declaration) ?? [];
      // The first declaration of a name is binding.
      if (name !== '' && !this.#declared.has(name))
        this.#declared.set(name, double ?? single ?? '');
    }
  }

  /**
   * The pieces of a document, with the text of entities that contain markup in the place of references
   * to them: the parser takes the text of an entity for character data.
   */
  *expandMarkup(chunks: Iterable<string>): Generator<string> {
    const pieces = chunks[Symbol.iterator]();
    const { value: first, done } = pieces.next();
    if (done === true) return;
    const end = endOfDoctype(first);
    if (end !== undefined) this.declare(first.slice(0, end));
    const names = this.#withMarkupInside();
    if (end === undefined || names.size === 0) {
      yield first;
      yield* { [Symbol.iterator]: () => pieces };
      return;
    }
    const rest = [first.slice(end), ...{ [Symbol.iterator]: () => pieces }].join('');
    yield first.slice(0, end);
    yield this.#withMarkup(rest, names, []);
  }

  /** What the parser looks names up in. */
  get table(): Record<string, string> {
    return new Proxy<Record<string, string>>({}, { get: (_, name) => this.#value(String(name)) });
  }

  /** The value of an attribute as it is declared, for one more element. */
  attributeValue(declared: string): string {
    return inOneLine(declared).replaceAll(/&([^;]*);/g, (_all, name: string) =>
      name.startsWith('#') ? characterOf(name) : inOneLine(this.#value(name)),
    );
  }

  #value(name: string): string {
    const known = Object.hasOwn(PREDEFINED, name) ? PREDEFINED[name] : undefined;
    if (known !== undefined) return known;
    if (/[\s<&]/.test(name))
      throw new Error('an `&` that starts no reference must be written `&amp;`');
    return this.#expand(name, []);
  }

  /** Entities whose text contains markup, or a reference to such a one. */
  #withMarkupInside(): ReadonlySet<string> {
    const texts = [...this.#declared].map(([name, text]) => [name, withCharacters(text)] as const);
    const found = new Set(texts.flatMap(([name, text]) => (text.includes('<') ? [name] : [])));
    for (let size = -1; size !== found.size && found.size > 0;) {
      size = found.size;
      for (const [name, text] of texts)
        if (!found.has(name) && referencesIn(text).some((inner) => found.has(inner)))
          found.add(name);
    }
    return found;
  }

  #withMarkup(text: string, names: ReadonlySet<string>, within: readonly string[]): string {
    return replaceReferences(text, (name) => {
      if (!names.has(name)) return undefined;
      const replacement = withCharacters(this.#take(name, within));
      return this.#withMarkup(replacement, names, [...within, name]);
    });
  }

  /** The text of an entity as it is declared, for one more reference. */
  #take(name: string, within: readonly string[]): string {
    const declared = this.#declared.get(name);
    if (declared === undefined) throw new Error(`the entity \`&${name};\` is not defined`);
    if (within.includes(name)) throw new Error(`the entity \`&${name};\` contains itself`);
    // A reference counts too: entities without text could refer to each other without end.
    this.#expanded += declared.length + 1;
    if (this.#expanded > MAX_EXPANDED)
      throw new Error(`the entity \`&${name};\` expands to more than ${MAX_EXPANDED} characters`);
    return declared;
  }

  /** `within` are the entities in whose text the reference stands. */
  #expand(name: string, within: readonly string[]): string {
    return replacementText(name, this.#take(name, within)).replaceAll(
      /&([^;]*);|&/g,
      (_all, inner?: string) => {
        if (inner === undefined) throw containsMarkup(name);
        if (inner.startsWith('#')) return characterOf(inner);
        const known = Object.hasOwn(PREDEFINED, inner) ? PREDEFINED[inner] : undefined;
        return known ?? this.#expand(inner, [...within, name]);
      },
    );
  }
}

/** What stands for a reference: references to characters are replaced where an entity is declared. */
function replacementText(name: string, declared: string): string {
  const text = withCharacters(declared);
  if (text.includes('<')) throw containsMarkup(name);
  return text;
}

function referencesIn(text: string): string[] {
  return [...text.matchAll(/&([^#;][^;]*);/g)].map(([, name = '']) => name);
}

function containsMarkup(name: string): Error {
  return new Error(`the entity \`&${name};\` contains markup, which cannot stand there`);
}

/** In attributes, line ends and tabs are spaces. */
function inOneLine(text: string): string {
  return text.replaceAll(/[\t\r\n]/g, ' ');
}
