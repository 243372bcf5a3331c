/** Changes of a document that leave its comments and everything else as they are. */
import { isMap, isScalar, parseDocument, type Document, type Node, type YAMLMap } from 'yaml';
import {
  hasField,
  isObject,
  parseData,
  setField,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';

export type Step = string | number;

export type Edit =
  | { readonly kind: 'set'; readonly steps: readonly Step[]; readonly value: JsonValue }
  | { readonly kind: 'rename'; readonly steps: readonly Step[]; readonly to: string };

/** `undefined` when a place is not in this text: it comes from another file. */
export function editedText(
  text: string,
  edits: readonly Edit[],
  format: 'yaml' | 'json',
): string | undefined {
  return format === 'json' ? editedJson(text, edits) : editedYaml(text, edits);
}

function editedYaml(text: string, edits: readonly Edit[]): string | undefined {
  const document = parseDocument(text, { keepSourceTokens: true });
  if (document.errors.length > 0) return undefined;
  for (const edit of edits) {
    const parent = edit.steps.slice(0, -1);
    const last = edit.steps.at(-1);
    if (edit.kind === 'rename') {
      const map = document.getIn(parent, true);
      const pair = isMap(map) ? pairOf(map, String(last)) : undefined;
      if (pair === undefined || !isScalar(pair.key)) return undefined;
      pair.key.value = edit.to;
      continue;
    }
    // The part itself has to stand here; its config may be new.
    if (!document.hasIn(parent.slice(0, 2))) return undefined;
    document.setIn(edit.steps, nodeOf(document, edit.value));
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

function editedJson(text: string, edits: readonly Edit[]): string | undefined {
  let tree: JsonValue;
  try {
    tree = parseData(text);
  } catch {
    return undefined;
  }
  for (const edit of edits) {
    const parent = edit.steps.slice(0, -1);
    if (edit.kind === 'set' && memberAt(tree, parent.slice(0, 2)) === undefined) return undefined;
    const place = objectAt(tree, parent, edit.kind === 'set');
    const last = String(edit.steps.at(-1));
    if (place === undefined) return undefined;
    if (edit.kind === 'set') setField(place, last, edit.value);
    else if (!renameField(place, last, edit.to)) return undefined;
  }
  const indent = /^[ \t]+/m.exec(text)?.[0].length ?? 2;
  return `${stringifyJson(tree, indent)}\n`;
}

function memberAt(tree: JsonValue, steps: readonly Step[]): JsonValue | undefined {
  let at: JsonValue | undefined = tree;
  for (const step of steps)
    at = Array.isArray(at) ? at[Number(step)] : isObject(at) ? at[step] : undefined;
  return at;
}

/** Objects that are missing on the way are made, where that is wanted. */
function objectAt(tree: JsonValue, steps: readonly Step[], makes: boolean): JsonObject | undefined {
  for (const [index, step] of steps.entries()) {
    const holder = memberAt(tree, steps.slice(0, index));
    if (makes && isObject(holder) && !hasField(holder, String(step)))
      setField(holder, String(step), {});
  }
  const place = memberAt(tree, steps);
  return isObject(place) ? place : undefined;
}

/** It keeps its place. */
function renameField(place: JsonObject, from: string, to: string): boolean {
  if (!hasField(place, from)) return false;
  const entries = Object.entries(place);
  for (const [key] of entries) delete place[key];
  for (const [key, value] of entries) setField(place, key === from ? to : key, value);
  return true;
}

function nodeOf(document: Document, value: JsonValue): Node {
  const node = document.createNode(value, Array.isArray(value) ? { flow: true } : {});
  // One sign is hard to see without quotes.
  if (isScalar(node) && typeof value === 'string' && /^[^\w\t]$/.test(value))
    node.type = 'QUOTE_SINGLE';
  return node;
}

function pairOf(map: YAMLMap, key: string) {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key);
}

/** `pipeline.transforms[0].config`, as the plan writes places. */
export function stepsOf(path: string): Step[] {
  return [...path.matchAll(/\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g)].map(
    ([, index, quoted, plain]) =>
      index !== undefined
        ? Number(index)
        : quoted !== undefined
          ? (JSON.parse(`"${quoted}"`) as string)
          : (plain ?? ''),
  );
}
