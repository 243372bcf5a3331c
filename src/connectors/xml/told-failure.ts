/** Services that tell of a failure in a document whose status says that all is well. */
import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { excerptOf } from '../../lib/text/excerpt.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { elementsBelow } from '../../lib/xml/xml-document.ts';

const FAILURE = /error|fault|exception|failure/i;
/** What services say in such an element when nothing has failed. */
const NO_FAILURE = /^\s*(?:0*|false|none|null|no|ok|success)\s*$/i;

interface Place {
  /** A dot path from `start` on. */
  readonly path: string;
  /** Address of the page, safe to show. */
  readonly where: string;
  /** Whether there is such a page: the first one, and one that the page before has named. */
  readonly isSure: boolean;
}

/**
 * A document that has not even what would hold the records ends the reading as if there were no
 * more. Behind the last page some services answer like that; a page that is there has to have it.
 */
export function noteFailure(
  { env }: Pick<SourceContext, 'env'>,
  start: JsonValue,
  { path, where, isSure }: Place,
): void {
  const names = path.split('.').filter((step) => step !== '');
  const [root = '', ...inner] = names;
  if (!isObject(start) || elementsOf(start).length === 0) return;
  const isOther = elementsBelow(start, root).length === 0;
  const holder = names.slice(0, -1).join('.');
  const holds = inner.length > 0 && elementsBelow(start, holder).length > 0;
  const told = isOther ? elementsOf(start)[0] : holds ? undefined : failureIn(start, root);
  if (told === undefined) return;
  const [name, value] = told;
  const said = excerptOf(jsonText(value), env.redactor);
  const what = isOther
    ? `the answer of ${where} is \`${name}\` and not \`${root}\``
    : `the answer of ${where} has no \`${holder}\`, but \`${name}\``;
  if (isSure)
    throw new ConnectorError('data', `${what}: ${said}`, {
      hint: 'see what the service says; where all is well with it, mend `records_element_path`',
    });
  env.log.warn('an answer has no place for records; it is taken for the end', {
    reason: what,
    [name]: said,
  });
}

/** An element below the root that says why the others are missing. */
function failureIn(start: JsonObject, root: string): readonly [string, JsonValue] | undefined {
  return elementsBelow(start, root)
    .flatMap((element) => (isObject(element) ? elementsOf(element) : []))
    .find(([name, value]) => FAILURE.test(name) && saysSomething(value));
}

function saysSomething(value: JsonValue): boolean {
  if (isObject(value)) return elementsOf(value).length > 0 || saysSomething(value['#text'] ?? null);
  return value !== null && !NO_FAILURE.test(jsonText(value));
}

function elementsOf(element: JsonObject): (readonly [string, JsonValue])[] {
  return Object.entries(element).filter(([name]) => !name.startsWith('@') && name !== '#text');
}
