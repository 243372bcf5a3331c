/** What the number of a cell means; only its number format says so. */
export type NumberKind = 'number' | 'date' | 'time' | 'duration';

/** Formats that files refer to by id alone: from ECMA-376 18.8.30, with those of East Asia and Thai. */
const BUILT_IN: readonly (readonly [first: number, last: number, kind: NumberKind])[] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'date'],
  [27, 31, 'date'],
  [32, 35, 'time'],
  [36, 36, 'date'],
  [45, 45, 'time'],
  [46, 46, 'duration'],
  [47, 47, 'time'],
  [50, 54, 'date'],
  [55, 56, 'time'],
  [57, 58, 'date'],
  [71, 74, 'date'],
  [75, 76, 'time'],
  [77, 77, 'date'],
  [78, 80, 'time'],
  [81, 81, 'date'],
];

export function builtInKind(id: number): NumberKind {
  return BUILT_IN.find(([first, last]) => id >= first && id <= last)?.[2] ?? 'number';
}

const LITERALS = /"[^"]*"|\\.|_.|\*./gs;

/** The kind of a format code such as `yyyy-mm-dd` or `[h]:mm`. */
export function kindOfCode(code: string): NumberKind {
  const section = code
    .replaceAll(LITERALS, '')
    .split(';')
    .find((one) => one.trim() !== '');
  if (section === undefined) return 'number';
  if (/\[(?:h+|m+|s+)\]/i.test(section)) return 'duration';
  const tokens = section
    .toLowerCase()
    .replaceAll(/\[[^\]]*\]|general|e[+-]/g, '')
    .replaceAll(/am\/pm|a\/p/g, 'h')
    // A month and a minute are written with the same letter; minutes are next to hours or seconds.
    .replaceAll(/h+[^a-z]*m+|m+(?=[^a-z]*s)/g, 'h');
  if (/[ymdegb]|aaa/.test(tokens)) return 'date';
  return /[hs]/.test(tokens) ? 'time' : 'number';
}
