import { hasField, setField, type JsonObject, type JsonValue } from '../text/json.ts';

/**
 * Elements as JSON: `@name` for attributes, `#text` for text beside attributes or children, a list
 * for repeated elements, null for empty ones. All other values are text.
 */
export class ElementBuilder {
  readonly #open: OpenElement[] = [];

  get depth(): number {
    return this.#open.length;
  }

  /** `isKept`: whether an element around the outermost one keeps white space. */
  open(name: string, attributes: Readonly<Record<string, string>>, isKept = false): void {
    const parent = this.#open.at(-1);
    parent?.endRun();
    this.#open.push(new OpenElement(name, attributes, parent?.preserve ?? isKept));
  }

  text(text: string): void {
    this.#open.at(-1)?.addText(text);
  }

  cdata(text: string): void {
    this.#open.at(-1)?.addCdata(text);
  }

  /** Closes the innermost element and adds it to its parent. Returns its value. */
  close(): JsonValue {
    const element = this.#open.pop();
    if (element === undefined) return null;
    const value = element.value();
    this.#open.at(-1)?.addChild(element.name, value);
    return value;
  }
}

class OpenElement {
  readonly name: string;
  /** Whether white space around text is kept (`xml:space="preserve"`, inherited). */
  readonly preserve: boolean;
  readonly #fields: JsonObject = {};
  /** Text between child elements. Comments and CDATA sections do not end a run. */
  readonly #runs: string[] = [];
  #run = '';
  /** The part of the run from the first CDATA section to the last, which is never trimmed. */
  #exactFrom: number | undefined;
  #exactTo = 0;

  constructor(name: string, attributes: Readonly<Record<string, string>>, preserve: boolean) {
    this.name = name;
    this.preserve = keepsSpace(attributes, preserve);
    for (const [key, value] of Object.entries(attributes)) setField(this.#fields, `@${key}`, value);
  }

  addText(text: string): void {
    this.#run += text;
  }

  addCdata(text: string): void {
    this.#exactFrom ??= this.#run.length;
    this.#run += text;
    this.#exactTo = this.#run.length;
  }

  addChild(name: string, value: JsonValue): void {
    const before = this.#fields[name];
    if (!hasField(this.#fields, name)) setField(this.#fields, name, value);
    // The value of an element is never a list, so a list here holds repeated elements.
    else if (Array.isArray(before)) before.push(value);
    else setField(this.#fields, name, [before ?? null, value]);
  }

  endRun(): void {
    const run = this.preserve ? this.#run : this.#trimmed();
    if (run !== '') this.#runs.push(run);
    this.#run = '';
    this.#exactFrom = undefined;
    this.#exactTo = 0;
  }

  value(): JsonValue {
    this.endRun();
    const text = this.#runs.join(this.preserve ? '' : ' ');
    if (Object.keys(this.#fields).length === 0) return text === '' ? null : text;
    if (text !== '') setField(this.#fields, '#text', text);
    return this.#fields;
  }

  #trimmed(): string {
    if (this.#exactFrom === undefined) return trimmedStart(trimmedEnd(this.#run));
    return (
      trimmedStart(this.#run.slice(0, this.#exactFrom)) +
      this.#run.slice(this.#exactFrom, this.#exactTo) +
      trimmedEnd(this.#run.slice(this.#exactTo))
    );
  }
}

/** White space of XML: a no-break space is a letter like any other. */
const SPACES: ReadonlySet<string | undefined> = new Set([' ', '\t', '\r', '\n']);

function trimmedStart(text: string): string {
  let from = 0;
  while (SPACES.has(text[from])) from += 1;
  return text.slice(from);
}

function trimmedEnd(text: string): string {
  let to = text.length;
  while (SPACES.has(text[to - 1])) to -= 1;
  return text.slice(0, to);
}

/** Whether an element keeps white space around text: as it says, or as the element around it. */
export function keepsSpace(
  attributes: Readonly<Record<string, string>>,
  inherited: boolean,
): boolean {
  const space = attributes['xml:space'];
  return space === undefined ? inherited : space === 'preserve';
}
