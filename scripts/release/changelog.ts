/** The list of changes, made of the fragments in `changelog.d/`. */

const HEAD = `# Changes

What users can notice, newest version first. Changes that are not in a version yet are in \`changelog.d/\`.
`;

/** A fragment is a list, or paragraphs each of which is one change. */
export function entriesOf(fragment: string): string {
  const text = fragment.trim();
  if (text.startsWith('- ')) return text;
  const paragraphs = text.split(/\n\s*\n/);
  return paragraphs
    .map((paragraph) => `- ${paragraph.trim().replaceAll(/\n\s*/g, '\n  ')}`)
    .join('\n');
}

export interface Release {
  readonly version: string;
  /** Day, as `2026-01-31`. */
  readonly date: string;
  /** In the order in which they shall stand. */
  readonly fragments: readonly string[];
}

/** A version that is there already gets more entries: fragments that came before it was tagged. */
export function withRelease(changelog: string, { version, date, fragments }: Release): string {
  const entries = fragments.map(entriesOf).filter((text) => text !== '- ');
  const [, ...sections] = changelog.split(/^(?=## )/m);
  const latest = sections[0];
  const isThere = latest !== undefined && latest.startsWith(`## ${version} `);
  const earlier = isThere ? [latest.slice(latest.indexOf('\n')).trim()] : [];
  const section = `## ${version} (${date})\n\n${[...earlier, ...entries].join('\n')}\n`;
  return [HEAD, section, ...sections.slice(isThere ? 1 : 0)]
    .map((text) => text.trim())
    .join('\n\n')
    .concat('\n');
}

/** What a version changed, for the page of a release. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const section = changelog.split(/^(?=## )/m).find((text) => text.startsWith(`## ${version} `));
  return section?.slice(section.indexOf('\n')).trim();
}
