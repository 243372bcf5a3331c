/** The folders of partitions: only what the table says of a file counts, so names are for people. */
import { createHash } from 'node:crypto';

const LONGEST_FOLDER = 200;
const NULL_FOLDER = '__HIVE_DEFAULT_PARTITION__';

/** `name=value/` of each, as all programs name the folders of partitions. */
export function partitionFolder(
  values: Iterable<readonly [name: string, value: string | null]>,
  nullName = NULL_FOLDER,
): string {
  return [...values].map(([name, value]) => `${folderName(name, value ?? nullName)}/`).join('');
}

function folderName(name: string, value: string): string {
  const text = `${escaped(name)}=${value === NULL_FOLDER ? value : escaped(value)}`;
  if (Buffer.byteLength(text) <= LONGEST_FOLDER) return text;
  return `partition-${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

/** What file systems do not take in names, or read in another way. */
function escaped(text: string): string {
  return text.replaceAll(
    /["#%'*/:=?\\{}[\]^<>|]|\p{Cc}|^\.|[. ]$/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
