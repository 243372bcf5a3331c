/** The attributes that the DOCTYPE of an XML document declares. */
import { declarationsOf } from './xml-doctype.ts';
import type { Entities } from './xml-entities.ts';

interface Declared {
  readonly isText: boolean;
  /** The value of an element that does not have the attribute, as it is declared. */
  readonly fallback: string | undefined;
}

const LIST = /^<!ATTLIST\s+([^\s>]+)([\s\S]*)>$/;
const ATTRIBUTE =
  /([^\s"'#()]+)\s+(CDATA|ID|IDREFS?|ENTITY|ENTITIES|NMTOKENS?|(?:NOTATION\s*)?\([^)]*\))\s*(?:#REQUIRED|#IMPLIED|(?:#FIXED\s+)?(?:"([^"]*)"|'([^']*)'))/g;

/** Gives elements the attributes that they have by declaration alone. */
export class DeclaredAttributes {
  readonly #elements = new Map<string, Map<string, Declared>>();
  readonly #entities: Entities;

  constructor(entities: Entities) {
    this.#entities = entities;
  }

  /** `doctype` is the text of a DOCTYPE. */
  declare(doctype: string): void {
    for (const declaration of declarationsOf(doctype)) {
      const [, element = '', list = ''] = LIST.exec(declaration) ?? [];
      if (element === '') continue;
      const declared = this.#elements.get(element) ?? new Map<string, Declared>();
      this.#elements.set(element, declared);
      for (const [, name = '', type, double, single] of list.matchAll(ATTRIBUTE))
        // The first declaration of a name is binding.
        if (!declared.has(name))
          declared.set(name, { isText: type === 'CDATA', fallback: double ?? single });
    }
  }

  of(element: string, written: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const declared = this.#elements.get(element);
    if (declared === undefined) return written;
    const attributes: Record<string, string> = { ...written };
    for (const [name, { isText, fallback }] of declared) {
      const value = Object.hasOwn(written, name)
        ? written[name]
        : fallback === undefined
          ? undefined
          : this.#entities.attributeValue(fallback);
      // White space around names and between them says nothing.
      if (value !== undefined)
        attributes[name] = isText ? value : value.replaceAll(/ +/g, ' ').replaceAll(/^ | $/g, '');
    }
    return attributes;
  }
}
