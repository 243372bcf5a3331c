/** Keys that stand twice in one object: of two readers of such a body, each may take another one. */

const SPACE = ' \t\r\n';

interface Level {
  /** Undefined: a list. */
  readonly keys: Set<string> | undefined;
  /** The key or the index of the value that is being read. */
  step: string | number;
}

/** The path of the first one; the text is JSON. */
export function duplicateKey(text: string): readonly (string | number)[] | undefined {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const level = levels.at(-1);
    switch (text[at]) {
      case '{':
        levels.push({ keys: new Set(), step: '' });
        break;
      case '[':
        levels.push({ keys: undefined, step: 0 });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (typeof level?.step === 'number') level.step += 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.keys !== undefined && isKey(text, end)) {
          level.step = JSON.parse(text.slice(at, end)) as string;
          if (level.keys.has(level.step)) return levels.map(({ step }) => step);
          level.keys.add(level.step);
        }
        at = end - 1;
        break;
      }
      default:
    }
  }
  return undefined;
}

/** Behind the closing quote. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let slash = end;
    while (text[slash - 1] === '\\') slash -= 1;
    if ((end - slash) % 2 === 0) return end + 1;
  }
}

function isKey(text: string, from: number): boolean {
  let at = from;
  while (SPACE.includes(text[at] ?? ':')) at += 1;
  return text[at] === ':';
}
