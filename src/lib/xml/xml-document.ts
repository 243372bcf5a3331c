import { hasField, isObject, setField, type JsonObject, type JsonValue } from '../text/json.ts';
import { parseXmlEvents } from './xml-events.ts';
import { ElementBuilder } from './xml-values.ts';

/** A document as `{root: …}`. Errors show `name`. */
export function parseXml(text: string, name: string): JsonValue {
  const document: JsonObject = {};
  const builder = new ElementBuilder();
  parseXmlEvents([text], name, {
    open: (element, attributes) => builder.open(element, attributes),
    text: (value) => builder.text(value),
    cdata: (value) => builder.cdata(value),
    close(element) {
      const value = builder.close();
      if (builder.depth === 0) setField(document, element, value);
    },
  });
  return document;
}

/**
 * The elements that match a dot path anywhere in the document; prefixes of names are ignored. A
 * repeated element gives one value each.
 */
export function elementsAt(document: JsonValue, path: string): JsonValue[] {
  const steps = path
    .split('.')
    .filter((step) => step !== '')
    .map(localName);
  return searchElements(document, steps);
}

/**
 * The elements that a dot path leads to from `value` on. A step without a prefix also takes elements
 * that have one, where none has exactly its name.
 */
export function elementsBelow(value: JsonValue, path: string): JsonValue[] {
  let found = [value];
  for (const step of path.split('.').filter((one) => one !== ''))
    found = found.flatMap((one) => (isObject(one) ? childrenOf(one, step) : []));
  return found;
}

function childrenOf(element: JsonObject, step: string): JsonValue[] {
  const exact = hasField(element, step) ? [element[step] ?? null] : undefined;
  const children =
    exact ??
    Object.entries(element).flatMap(([name, child]) => (localName(name) === step ? [child] : []));
  return children.flatMap((child) => (Array.isArray(child) ? child : [child]));
}

function searchElements(value: JsonValue, steps: readonly string[]): JsonValue[] {
  const here = follow(value, steps);
  if (here.length > 0) return here;
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return inner.flatMap((one) => searchElements(one, steps));
}

function follow(value: JsonValue, steps: readonly string[]): JsonValue[] {
  let found = [value];
  for (const step of steps) {
    found = found.flatMap((one) =>
      isObject(one)
        ? Object.entries(one).flatMap(([name, child]) =>
            localName(name) === step ? (Array.isArray(child) ? child : [child]) : [],
          )
        : [],
    );
  }
  return found;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
