/** Markup that is put together from texts: what is no markup already is escaped. */

export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = string | number | Markup | readonly Markup[] | undefined;

export function markup(literals: TemplateStringsArray, ...values: readonly Content[]): Markup {
  const parts = literals.map((literal, index) => literal + markupOf(values[index]));
  return new Markup(parts.join(''));
}

function markupOf(value: Content): string {
  if (value === undefined) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map((part) => markupOf(part)).join('\n');
  return escaped(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
// oxlint-disable-next-line no-control-regex -- These are what it is about.
const UNPRINTABLE = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;

function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(UNPRINTABLE, '\uFFFD')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
