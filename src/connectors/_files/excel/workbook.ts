import { posix } from 'node:path';
import { ConnectorError } from '../../../lib/errors.ts';
import { unzipFiles } from '../compression/zip.ts';
import { parseXmlEvents, type XmlHandler } from '../../../lib/xml/xml-events.ts';
import { xmlChunks } from '../../../lib/xml/xml-text.ts';
import { builtInKind, kindOfCode, type NumberKind } from './number-formats.ts';

export interface SheetEntry {
  readonly name: string;
  /** Its part of the package. */
  readonly part: string;
  /** A sheet may also be a chart or a dialog. */
  readonly hasCells: boolean;
  /** Whether people who open the workbook do not see it. */
  readonly isHidden: boolean;
}

/** The package of a workbook (ECMA-376): a ZIP archive of XML parts that refer to each other. */
export class Workbook {
  readonly sheets: SheetEntry[] = [];
  /** Whether days are counted from 1904, as on early Macintosh computers. */
  is1904 = false;
  readonly #name: string;
  readonly #bytes: Uint8Array;
  #sharedStringsPart: string | undefined;
  #stylesPart: string | undefined;

  constructor(bytes: Uint8Array, name: string) {
    this.#bytes = bytes;
    this.#name = name;
    requireWorkbook(bytes, name);
    const main = this.#mainPart();
    const targets = this.#relations(main);
    this.#sharedStringsPart = [...targets.values()].find(
      (one) => one.type === 'sharedStrings',
    )?.part;
    this.#stylesPart = [...targets.values()].find((one) => one.type === 'styles')?.part;
    this.read(main, {
      open: (element, attributes) => {
        if (element === 'workbookPr') this.is1904 = isTrue(attributes['date1904']);
        if (element !== 'sheet') return;
        const id = Object.entries(attributes).find(([key]) => key.endsWith(':id'))?.[1] ?? '';
        this.sheets.push({
          name: attributes['name'] ?? '',
          part: targets.get(id)?.part ?? '',
          isHidden: attributes['state'] === 'hidden' || attributes['state'] === 'veryHidden',
          hasCells: targets.get(id)?.type === 'worksheet',
        });
      },
    });
  }

  /** The parsed parts that cells refer to by number. */
  tables(): { readonly strings: readonly string[]; readonly kinds: readonly NumberKind[] } {
    return {
      strings:
        this.#sharedStringsPart === undefined ? [] : this.#sharedStrings(this.#sharedStringsPart),
      kinds: this.#stylesPart === undefined ? [] : this.#numberKinds(this.#stylesPart),
    };
  }

  /** Reads one part. Prefixes of element names are left out: writers choose them. */
  read(part: string, handler: Partial<XmlHandler>): void {
    const bytes = this.#part(part);
    if (bytes === undefined)
      throw notReadable(this.#name, `its part ${JSON.stringify(part)} is missing`);
    const name = `${part} in ${this.#name}`;
    parseXmlEvents(xmlChunks(bytes, name), name, {
      open: (element, attributes) => handler.open?.(localName(element), attributes),
      text: (text) => handler.text?.(text),
      cdata: (text) => handler.text?.(text),
      close: (element) => handler.close?.(localName(element)),
    });
  }

  #part(part: string): Uint8Array | undefined {
    const wanted = part.toLowerCase();
    return unzipFiles(
      this.#bytes,
      this.#name,
      (file) => file.replaceAll('\\', '/').toLowerCase() === wanted,
    )
      .values()
      .next().value;
  }

  #mainPart(): string {
    if (this.#part('_rels/.rels') === undefined) return 'xl/workbook.xml';
    const main = [...this.#relations('').values()].find((one) => one.type === 'officeDocument');
    if (main === undefined) throw notReadable(this.#name, 'it holds no workbook');
    if (main.part.endsWith('.bin'))
      throw notReadable(this.#name, 'it is a binary workbook (.xlsb)', 'save it as .xlsx');
    return main.part;
  }

  /** What a part refers to, by id. The types of the strict and the usual variant end alike. */
  #relations(part: string): Map<string, { readonly type: string; readonly part: string }> {
    const folder = posix.dirname(part);
    const targets = new Map<string, { readonly type: string; readonly part: string }>();
    this.read(posix.join(folder, '_rels', `${posix.basename(part)}.rels`), {
      open(element, attributes) {
        const { Id: id = '', Type: type = '', Target: target = '' } = attributes;
        if (element !== 'Relationship' || attributes['TargetMode'] === 'External') return;
        const path = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
        targets.set(id, { type: type.slice(type.lastIndexOf('/') + 1), part: path });
      },
    });
    return targets;
  }

  #sharedStrings(part: string): string[] {
    const strings: string[] = [];
    const text = new RichText();
    this.read(part, {
      open: (element) => text.open(element),
      text: (value) => text.text(value),
      close(element) {
        text.close(element);
        if (element === 'si') strings.push(text.take());
      },
    });
    return strings;
  }

  /** The kind of each cell style. */
  #numberKinds(part: string): NumberKind[] {
    const custom = new Map<number, NumberKind>();
    const kinds: NumberKind[] = [];
    let inCellStyles = false;
    this.read(part, {
      open(element, attributes) {
        if (element === 'cellXfs') inCellStyles = true;
        const id = Number(attributes['numFmtId'] ?? 0);
        if (element === 'numFmt') custom.set(id, kindOfCode(attributes['formatCode'] ?? ''));
        if (element === 'xf' && inCellStyles) kinds.push(custom.get(id) ?? builtInKind(id));
      },
      close(element) {
        if (element === 'cellXfs') inCellStyles = false;
      },
    });
    return kinds;
  }
}

/** Collects the text of a string with runs of several fonts, without its phonetic guides. */
export class RichText {
  #text = '';
  #inText = false;
  #inGuide = false;

  open(element: string): void {
    if (element === 't') this.#inText = true;
    else if (element === 'rPh') this.#inGuide = true;
  }

  close(element: string): void {
    if (element === 't') this.#inText = false;
    else if (element === 'rPh') this.#inGuide = false;
  }

  text(value: string): void {
    if (this.#inText && !this.#inGuide) this.#text += value;
  }

  take(): string {
    const text = unescaped(this.#text);
    this.#text = '';
    return text;
  }
}

/** Characters that XML cannot hold are written as `_x000D_`. */
export function unescaped(text: string): string {
  return text.includes('_x')
    ? text.replaceAll(/_x([\dA-Fa-f]{4})_/g, (_all, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text;
}

/** The other way round, also for a text that looks like such an escape. */
export function escapedText(text: string): string {
  const writable = text.toWellFormed().replaceAll(UNWRITABLE, escapes);
  // The library that writes takes `constructor` and the like for texts that it has written before.
  return writable in Object.prototype ? writable.replace(/^./, escapes) : writable;
}

function escapes(character: string): string {
  return Array.from({ length: character.length }, (_, unit) => {
    const code = character.charCodeAt(unit).toString(16).toUpperCase();
    return `_x${code.padStart(4, '0')}_`;
  }).join('');
}

/** What XML cannot hold, or reads as another one, and what the library that writes leaves out. */
const UNWRITABLE =
  // oxlint-disable-next-line no-control-regex -- these are the characters that are meant
  /[\0-\x08\v-\x1F\x7F-\x84\x86-\x9F\uFFFD]|\p{Noncharacter_Code_Point}|_(?=x[\dA-Fa-f]{4}_)/gu;

export function notReadable(name: string, why: string, hint?: string): ConnectorError {
  const message = `${name} cannot be read as a spreadsheet: ${why}`;
  return new ConnectorError('data', message, hint === undefined ? {} : { hint });
}

const COMPOUND_FILE = 'd0cf11e0a1b11ae1';

function requireWorkbook(bytes: Uint8Array, name: string): void {
  const start = Buffer.from(bytes.subarray(0, COMPOUND_FILE.length / 2));
  if (start.toString('hex') === COMPOUND_FILE)
    throw notReadable(
      name,
      'it is a workbook of Excel 97 to 2003 (.xls), or has a password',
      'save it as .xlsx without a password',
    );
  if (start.toString('latin1', 0, 2) !== 'PK')
    throw notReadable(name, 'it is no .xlsx file', 'check `format`');
}

export function isTrue(value: string | undefined): boolean {
  return value === '1' || value === 'true' || value === 'on';
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
