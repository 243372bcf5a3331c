/** The declarations in the DOCTYPE of an XML document. */
import { endOfMarkup } from './xml-scan.ts';

/** Parameter entities that refer to each other could make any amount of text. */
const MAX_EXPANDED = 10_000_000;
const PARAMETER = /^<!ENTITY\s+%\s+([^\s"'<>]+)\s+(?:"([^"]*)"|'([^']*)')\s*>$/;
const REFERENCE = /%([^\s%;]+);/y;
const DOCTYPE = '<!DOCTYPE';

/**
 * The declarations (`<!ENTITY …>`, `<!ATTLIST …>`) of a DOCTYPE in their order, those in a parameter
 * entity where it is referred to. What lies outside of the document is not read.
 */
export function declarationsOf(doctype: string): readonly string[] {
  const reader = new DoctypeReader();
  reader.read(doctype, []);
  return reader.declarations;
}

class DoctypeReader {
  readonly declarations: string[] = [];
  readonly #parameters = new Map<string, string>();
  #expanded = 0;

  /** `within` are the parameter entities in which the text stands. */
  read(text: string, within: readonly string[]): void {
    for (let at = nextMark(text, 0); at !== -1;) {
      let end = at + 1;
      if (text.startsWith(DOCTYPE, at)) end = at + DOCTYPE.length;
      else if (text[at] === '<') {
        end = endOfMarkup(text, at) ?? text.length;
        this.#declare(text.slice(at, end));
      } else if (text[at] === '%') {
        REFERENCE.lastIndex = at;
        const [all = '%', name = ''] = REFERENCE.exec(text) ?? [];
        if (!within.includes(name)) this.#readParameter(name, within);
        end = at + all.length;
      } else {
        const closing = text.indexOf(text[at] ?? '', end);
        end = closing === -1 ? text.length : closing + 1;
      }
      at = nextMark(text, end);
    }
  }

  #declare(markup: string): void {
    if (!markup.startsWith('<!') || markup.startsWith('<!--')) return;
    const [, name, double, single] = PARAMETER.exec(markup) ?? [];
    if (name === undefined) this.declarations.push(markup);
    // The first declaration of a name is binding.
    else if (!this.#parameters.has(name)) this.#parameters.set(name, double ?? single ?? '');
  }

  #readParameter(name: string, within: readonly string[]): void {
    const declared = this.#parameters.get(name);
    if (declared === undefined) return;
    // A reference counts too: entities without text could refer to each other without end.
    this.#expanded += declared.length + 1;
    if (this.#expanded > MAX_EXPANDED)
      throw new Error(`the entity \`%${name};\` expands to more than ${MAX_EXPANDED} characters`);
    this.read(withCharacters(declared), [...within, name]);
  }
}

/** What stands in quotes outside of declarations is an address. */
function nextMark(text: string, from: number): number {
  const pattern = /["'<%]/g;
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? -1;
}

/** References to characters are replaced where an entity is declared. */
export function withCharacters(declared: string): string {
  return declared.replaceAll(/&(#x[\dA-Fa-f]+|#\d+);/g, (_all, code: string) => characterOf(code));
}

export function characterOf(reference: string): string {
  const code = reference.startsWith('#x')
    ? Number.parseInt(reference.slice(2), 16)
    : Number.parseInt(reference.slice(1), 10);
  if (!(code > 0 && code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff))
    throw new Error(`\`&${reference};\` is no character`);
  return String.fromCodePoint(code);
}
