/** How texts are read: by the character set of the column, as the server itself converts them. */
import { ConnectorError } from '../../../lib/errors.ts';

export type TextReader = (bytes: Buffer, from: number, to: number) => string;

/** Asks the server; rows of values. */
export type AskServer = (sql: string) => Promise<readonly (readonly unknown[])[]>;

/** Names of the encodings for the character sets of more than one byte. */
const ENCODINGS: Readonly<Record<string, string>> = {
  big5: 'big5',
  cp932: 'shift_jis',
  eucjpms: 'euc-jp',
  euckr: 'euc-kr',
  gb18030: 'gb18030',
  gb2312: 'gbk',
  gbk: 'gbk',
  sjis: 'shift_jis',
  ucs2: 'utf-16be',
  ujis: 'euc-jp',
  utf16: 'utf-16be',
  utf16le: 'utf-16le',
};

const readUtf8: TextReader = (bytes, from, to) => bytes.toString('utf8', from, to);
const READERS: Readonly<Record<string, TextReader>> = {
  utf8: readUtf8,
  utf8mb3: readUtf8,
  utf8mb4: readUtf8,
  utf32: readUtf32,
};

function readUtf32(bytes: Buffer, from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at += 4) text += String.fromCodePoint(bytes.readUInt32BE(at));
  return text;
}

/** The character set of bytes. */
export const BINARY = 'binary';

interface Charset {
  readonly name: string;
  readonly bytesOfLetter: number;
}

export class Charsets {
  readonly #byCollation: ReadonlyMap<number, Charset>;
  readonly #readers = new Map<string, TextReader>();

  private constructor(byCollation: ReadonlyMap<number, Charset>) {
    this.#byCollation = byCollation;
  }

  static async ask(ask: AskServer): Promise<Charsets> {
    const sizes = await ask(
      'SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS',
    );
    const bytesOf = new Map(sizes.map(([name, size]) => [String(name), Number(size)]));
    const rows = await collations(ask);
    return new Charsets(
      new Map(
        rows.map(([id, name]) => [
          Number(id),
          { name: String(name), bytesOfLetter: bytesOf.get(String(name)) ?? 0 },
        ]),
      ),
    );
  }

  nameOf(collation: number): string {
    const found = this.#byCollation.get(collation);
    if (found !== undefined) return found.name;
    throw new ConnectorError(
      'data',
      `the server does not know the collation ${collation} of its log`,
    );
  }

  /** Makes what is needed to read texts of these collations. */
  async prepare(ids: readonly number[], ask: AskServer): Promise<void> {
    for (const id of ids) {
      const name = this.nameOf(id);
      if (name === BINARY || this.#readers.has(name)) continue;
      const size = this.#byCollation.get(id)?.bytesOfLetter;
      this.#readers.set(
        name,
        READERS[name] ?? (size === 1 ? await tableOf(name, ask) : encoded(name)),
      );
    }
  }

  /** Of a collation that was prepared; `undefined` for bytes. */
  readerOf(collation: number): TextReader | undefined {
    return this.#readers.get(this.nameOf(collation));
  }
}

/** Newer MariaDB servers list collations that several character sets share elsewhere. */
async function collations(ask: AskServer): Promise<readonly (readonly unknown[])[]> {
  const sql =
    'SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATIONS WHERE ID IS NOT NULL';
  const shared =
    'SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY';
  return [...(await ask(sql)), ...(await ask(shared).catch(() => []))].filter(
    ([id, name]) => id !== null && name !== null,
  );
}

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('hex');

/** The letter of each byte, in the words of the server. */
async function tableOf(name: string, ask: AskServer): Promise<TextReader> {
  const rows = await ask(`SELECT CONVERT(_${name} X'${ALL_BYTES}' USING utf8mb4)`);
  const [[found] = []] = rows;
  const letters = Array.from(typeof found === 'string' ? found : '');
  if (letters.length !== 256) throw unknownCharset(name);
  return (bytes, from, to) => {
    let text = '';
    for (let at = from; at < to; at += 1) text += letters[bytes[at] ?? 0] ?? '';
    return text;
  };
}

function encoded(name: string): TextReader {
  const encoding = ENCODINGS[name];
  if (encoding === undefined) throw unknownCharset(name);
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  return (bytes, from, to) => decoder.decode(bytes.subarray(from, to));
}

function unknownCharset(name: string): ConnectorError {
  return new ConnectorError('refused', `texts of the character set \`${name}\` cannot be read`, {
    hint: 'convert the column to utf8mb4, or leave out its table (`exclude_tables`)',
  });
}
