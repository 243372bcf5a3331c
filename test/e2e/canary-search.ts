/** Secrets that give themselves away wherever they turn up, in whatever form. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A secret for one place. Its start survives JSON and addresses; its end has what they escape. */
export function canary(place: string): string {
  return `CNRY${place}7f3a "/+é&%\\z`;
}

export interface Sighting {
  readonly place: string;
  readonly form: string;
  readonly where: string;
  readonly around: string;
}

/**
 * Every canary in a text: as it is or escaped, or in base64 wherever in the encoded text it begins.
 */
export function sightings(text: string, where: string, places: readonly string[]): Sighting[] {
  return places.flatMap((place) => {
    const marker = `CNRY${place}7f3a`;
    return [
      [marker, 'plain'] as const,
      ...base64Cores(marker).map((core) => [core, 'base64'] as const),
    ].flatMap(([needle, form]) => {
      const at = text.indexOf(needle);
      return at === -1
        ? []
        : [{ place, form, where, around: text.slice(Math.max(0, at - 120), at + 60) }];
    });
  });
}

/**
 * The part of the encoded marker that does not depend on its neighbours, for each of the three ways
 * to begin.
 */
function base64Cores(marker: string): string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.from('\0'.repeat(offset) + marker).toString('base64');
    return encoded.slice(
      Math.ceil((offset * 8) / 6),
      Math.floor(((offset + marker.length) * 8) / 6),
    );
  });
}

/** All files below a folder, but those that hold secrets by their nature. */
export function searchFiles(
  folder: string,
  places: readonly string[],
  except: ReadonlySet<string>,
): Sighting[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (except.has(name)) return [];
    if (statSync(path).isDirectory()) return searchFiles(path, places, except);
    return sightings(readFileSync(path, 'latin1'), path, places);
  });
}
