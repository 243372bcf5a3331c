/** The version, and the files that hold it. */

/** Each file with what finds its version; `package.json` has the one that counts. */
export const VERSION_PLACES: Readonly<Record<string, RegExp>> = {
  'package.json': /(?<="version": ")[^"]+(?=")/,
  // The first two are of the package itself.
  'package-lock.json': /(?<=^ {2}(?: {4})?"version": ")[^"]+(?=")/gm,
  'editors/vscode/package.json': /(?<=^ {2}"version": ")[^"]+(?=")/m,
  'deploy/helm/headgate/Chart.yaml': /(?<=^(?:version|appVersion): ).+$/gm,
};
const OF_PACKAGE_ITSELF = 2;

export function withVersion(file: string, text: string, version: string): string {
  let replaced = 0;
  const place = VERSION_PLACES[file];
  if (place === undefined) throw new Error(`${file} holds no version`);
  return text.replace(place, (found) => ((replaced += 1) <= OF_PACKAGE_ITSELF ? version : found));
}

/** Which is later, as numbers: 0.10.0 follows 0.9.0. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  return a.map((part, index) => part - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

function partsOf(version: string): number[] {
  if (!/^\d+\.\d+\.\d+$/.test(version)) {
    throw new Error(`"${version}" is no version: three numbers, such as 1.2.3`);
  }
  return version.split('.').map(Number);
}
