/** The part of the README that follows from what is registered. */
import type { Parts } from '../../src/kit/parts.ts';

const PLACE = /(<!-- connectors: .*-->\n)[^]*?(<!-- \/connectors -->)/;

/** The text with a row for each connector between its marks. */
export function withConnectors(text: string, { sources, sinks }: Parts): string {
  const [reads, writes] = [sources, sinks].map(
    (registry) => new Map(registry.all.map((one) => [one.type, one])),
  );
  const types = [...new Set([...sources.all, ...sinks.all].map(({ type }) => type))].sort();
  const rows = types.map((type) => [
    `\`${type}\``,
    reads?.has(type) === true ? `[source](docs/reference/sources/${type}.md)` : '',
    writes?.has(type) === true ? `[sink](docs/reference/sinks/${type}.md)` : '',
  ]);
  return text.replace(
    PLACE,
    (_, start: string, end: string) =>
      `${start}\n${table([['', 'read', 'write'], ...rows]).join('\n')}\n\n${end}`,
  );
}

/** Columns as wide as the formatter makes them, which looks at this file too. */
function table([head = [], ...rows]: readonly (readonly string[])[]): string[] {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[], fill = ' '): string =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width, fill)).join(' | ')} |`;
  return [line(head), line([], '-'), ...rows.map((cells) => line(cells))];
}
