/** The part of the README that follows from what is registered. */
import type { Parts } from '../../src/kit/parts.ts';

const PLACE = /(<!-- connectors: .*-->\n)[^]*?(<!-- \/connectors -->)/;

/** The text with a row for each connector between its marks. */
export function withConnectors(text: string, { sources, sinks }: Parts): string {
  const [reads, writes] = [sources, sinks].map(
    (registry) => new Map(registry.all.map((one) => [one.type, one])),
  );
  const types = [...new Set([...sources.all, ...sinks.all].map(({ type }) => type))].sort();
  const rows = types.map((type) => {
    const source = reads?.has(type) === true ? `[source](docs/reference/sources/${type}.md)` : '';
    const sink = writes?.has(type) === true ? `[sink](docs/reference/sinks/${type}.md)` : '';
    return `| \`${type}\` | ${source} | ${sink} |`;
  });
  const table = ['| | read | write |', '| --- | --- | --- |', ...rows].join('\n');
  return text.replace(PLACE, (_, start: string, end: string) => `${start}\n${table}\n\n${end}`);
}
