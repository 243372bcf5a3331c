/** XML has no way to write some control characters; they become the replacement character. */
export function escapeXmlText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;')
    .replaceAll(UNWRITABLE, '\uFFFD');
}

/** What is no `Char` of XML 1.0, section 2.2. */
// oxlint-disable-next-line no-control-regex -- these are the characters that are meant
const UNWRITABLE = /[\0-\x08\v\f\x0E-\x1F\uFFFE\uFFFF]|\p{Cs}/gu;

/** Whether the text has characters that become another one. */
export function holdsUnwritable(text: string): boolean {
  return text.search(UNWRITABLE) !== -1;
}

/** For a value between double quotes, where readers take line ends and tabs for spaces. */
export function escapeXmlAttribute(text: string): string {
  return escapeXmlText(text)
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\t', '&#9;');
}
