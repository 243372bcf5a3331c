/** Values of the answer to a step. */
import type { JsonValue as PathValue } from 'jsonpath-rfc9535';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, jsonText, parseJson, type JsonValue } from '../../lib/text/json.ts';
import { elementsAt, parseXml } from '../../lib/xml/xml-document.ts';
import { jsonPathLibrary } from '../fields.ts';
import type { TokenAnswer } from '../token-request.ts';
import type { Capture } from './config.ts';

export function captured(
  answer: TokenAnswer,
  wanted: Readonly<Record<string, Capture>>,
): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, capture] of Object.entries(wanted)) {
    const value = valueIn(answer, capture);
    if (value === undefined || value === '')
      throw new ConnectorError(
        'auth',
        `the answer of ${answer.where} has no value for \`${name}\``,
        {
          hint: `check \`capture.${name}\`: ${told(capture)}`,
        },
      );
    found.set(name, value);
  }
  return found;
}

function told({ from, path, name }: Capture): string {
  return from === 'json' || from === 'xml'
    ? `\`${path}\` of the ${from}`
    : `the ${from} \`${name}\``;
}

function valueIn(answer: TokenAnswer, { from, path = '', name = '' }: Capture): string | undefined {
  switch (from) {
    case 'json':
      return textOf(jsonPathLibrary().query(bodyOf(answer) as PathValue, path)[0]);
    case 'xml':
      return xmlTextOf(elementsAt(parseXml(answer.text, `the answer of ${answer.where}`), path)[0]);
    case 'header':
      return answer.headers.get(name) ?? undefined;
    case 'set_cookie':
      return cookieIn(answer.headers, name);
    default:
      return from satisfies never;
  }
}

function bodyOf({ text, where }: TokenAnswer): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    throw new ConnectorError('auth', `${where} does not answer with JSON`, { cause: error });
  }
}

/** Lists and objects are no values that a request could carry. */
function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined || value === null || typeof value === 'object'
    ? undefined
    : jsonText(value);
}

function xmlTextOf(element: JsonValue | undefined): string | undefined {
  return textOf(
    isObject(element ?? null) ? (element as { '#text'?: JsonValue })['#text'] : element,
  );
}

function cookieIn(headers: Headers, name: string): string | undefined {
  for (const cookie of headers.getSetCookie()) {
    const [pair = ''] = cookie.split(';');
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}
