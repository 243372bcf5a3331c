/** The target of `rel="next"` in a `Link` header (RFC 8288), as it stands there. */
export function nextLink(header: string | null): string | undefined {
  if (header === null) return undefined;
  for (const [, target, parameters] of header.matchAll(
    /<([^>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"[^"]*"|[^",;\s]*))?)*)/g,
  )) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^",;\s]*))/i.exec(parameters ?? '');
    const relations = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes('next')) return target;
  }
  return undefined;
}
