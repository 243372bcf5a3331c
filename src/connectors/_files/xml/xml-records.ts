import type { JsonValue } from '../../../lib/text/json.ts';
import { parseXmlEvents } from '../../../lib/xml/xml-events.ts';
import { ElementBuilder, keepsSpace } from '../../../lib/xml/xml-values.ts';

export interface XmlOptions {
  /** Name of the elements that are records, at any depth; unset: the children of the root. */
  readonly recordElement: string | undefined;
  readonly name: string;
}

/** The records of an XML document, in its order. */
export function xmlRecords(text: string, { recordElement, name }: XmlOptions): JsonValue[] {
  const records: JsonValue[] = [];
  const builder = new ElementBuilder();
  let depth = 0;
  /** Whether the elements around the record keep white space, from the root on. */
  const kept = [false];
  parseXmlEvents([text], name, {
    open(element, attributes) {
      depth += 1;
      const isRecord = recordElement === undefined ? depth === 2 : element === recordElement;
      const inherited = kept.at(-1) === true;
      if (isRecord || builder.depth > 0) builder.open(element, attributes, inherited);
      else kept.push(keepsSpace(attributes, inherited));
    },
    text: (value) => builder.text(value),
    cdata: (value) => builder.cdata(value),
    close() {
      depth -= 1;
      if (builder.depth === 0) {
        kept.pop();
        return;
      }
      const value = builder.close();
      if (builder.depth === 0) records.push(value);
    },
  });
  return records;
}
