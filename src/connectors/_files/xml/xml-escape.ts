/** XML has no way to write most control characters; they become the replacement character. */
export function escapeXmlText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;')
    .replaceAll(/[^\P{Cc}\t\n]/gu, '\uFFFD');
}

/** For a value between double quotes. */
export function escapeXmlAttribute(text: string): string {
  return escapeXmlText(text).replaceAll('"', '&quot;');
}
