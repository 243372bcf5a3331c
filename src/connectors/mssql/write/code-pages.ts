/** Which letters the code page of a column has. */

const UTF8 = 65_001;

const ENCODINGS: Readonly<Record<number, string>> = {
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  1250: 'windows-1250',
  1251: 'windows-1251',
  1252: 'windows-1252',
  1253: 'windows-1253',
  1254: 'windows-1254',
  1255: 'windows-1255',
  1256: 'windows-1256',
  1257: 'windows-1257',
  1258: 'windows-1258',
};

const KNOWN = new Map<number, ReadonlySet<string>>();
const BEYOND_ASCII = /[\u0080-\u{10ffff}]/u;

/** Whether a text has a letter that columns of the code page do not hold. */
export function lettersOutside(codePage: number): (text: string) => boolean {
  if (codePage === UTF8) return () => false;
  return (text) => {
    if (!BEYOND_ASCII.test(text)) return false;
    const letters = lettersOf(codePage);
    return Array.from(text).some((letter) => BEYOND_ASCII.test(letter) && !letters.has(letter));
  };
}

function lettersOf(codePage: number): ReadonlySet<string> {
  const known = KNOWN.get(codePage);
  if (known !== undefined) return known;
  const encoding = ENCODINGS[codePage];
  const letters = new Set<string>();
  if (encoding !== undefined) {
    const decoder = new TextDecoder(encoding);
    // Letters of two bytes.
    const lastSecond = codePage >= 932 && codePage <= 950 ? 0xff : 0;
    for (let first = 0x80; first <= 0xff; first += 1) {
      add(letters, decoder.decode(Uint8Array.of(first)));
      for (let second = 0x40; second <= lastSecond; second += 1)
        add(letters, decoder.decode(Uint8Array.of(first, second)));
    }
  }
  KNOWN.set(codePage, letters);
  return letters;
}

/** The decoder writes U+FFFD for bytes that are no letter. */
function add(letters: Set<string>, text: string): void {
  if (Array.from(text).length === 1 && text !== '\ufffd') letters.add(text);
}
