import {
  CompletionItemKind,
  InsertTextFormat,
  MarkupKind,
  type CompletionItem,
} from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { Steps } from '../document/parse/steps.ts';
import { cursorAt, type Cursor } from './cursor.ts';
import { keysAt } from './document-tree.ts';
import { declared, namesFor, openToken } from './names.ts';
import { aboutType, fieldInfo, nodesAt, type SchemaNode } from './schema-at.ts';
import { formatOf } from './text-format.ts';

interface Offer {
  readonly label: string;
  readonly kind: CompletionItemKind;
  readonly insert: string;
  readonly about: string | undefined;
  readonly isRequired?: boolean;
}

export function completionsAt(
  document: TextDocument,
  offset: number,
  root: SchemaNode,
): CompletionItem[] {
  const text = document.getText();
  const cursor = cursorAt(text, offset);
  if (cursor === undefined) return [];
  const isJson = formatOf(document) === 'json';
  const token = cursor.role === 'value' ? openToken(cursor.typed) : undefined;
  if (token !== undefined) {
    const names = [...declared(cursor.tree, token.names).keys()].map(nameOffer);
    return itemsOf(document, names, { start: offset - token.typed.length, end: offset });
  }
  const rest = /^[\w.-]*(["']?)(\s*:)?/.exec(text.slice(offset));
  const hasColon = rest?.[2] !== undefined;
  const offers =
    cursor.role === 'value'
      ? valueOffers(root, cursor, cursor.path, isJson)
      : [
          ...keyOffers(root, cursor).map((offer) => ({
            ...offer,
            insert: keyText(offer.insert, { isJson, hasColon, quoted: cursor.quoted }),
          })),
          ...(cursor.isAlone ? valueOffers(root, cursor, cursor.path, isJson) : []),
        ];
  return itemsOf(document, offers, { start: cursor.start, end: offset });
}

interface Writing {
  readonly isJson: boolean;
  readonly hasColon: boolean;
  readonly quoted: boolean;
}

function keyText(key: string, { isJson, hasColon, quoted }: Writing): string {
  if (quoted) return key;
  const name = isJson ? JSON.stringify(key) : key;
  return hasColon ? name : `${name}: `;
}

function keyOffers(root: SchemaNode, { tree, path }: Cursor): Offer[] {
  const used = new Set(keysAt(tree, path));
  const nodes = nodesAt(root, tree, path);
  const required = new Set(nodes.flatMap((node) => node.required ?? []));
  const labels = new Set(nodes.flatMap((node) => Object.keys(node.properties ?? {})));
  return [...labels]
    .filter((label) => !used.has(label))
    .map((label) => ({
      label,
      kind: CompletionItemKind.Property,
      insert: label,
      about: fieldInfo(root, tree, [...path, label])?.description,
      isRequired: required.has(label),
    }));
}

function valueOffers(root: SchemaNode, cursor: Cursor, path: Steps, isJson: boolean): Offer[] {
  const { tree, quoted } = cursor;
  const names = namesFor(tree, path);
  if (names !== undefined)
    return [...declared(tree, names).keys()]
      .filter((name) => name !== '')
      .map((name) => withQuotes(nameOffer(name), isJson && !quoted));
  const info = fieldInfo(root, tree, path);
  if (info === undefined) return [];
  const around = path.at(-1) === 'type' ? nodesAt(root, tree, path.slice(0, -1)) : [];
  const truths = info.types.includes('boolean') ? [true, false] : [];
  const told = info.values.length > 0 ? [...info.values, ...truths] : [...truths, ...info.examples];
  const all = [...told, ...(info.fallback === undefined ? [] : [info.fallback])];
  const plain = all.filter((value) => ['string', 'number', 'boolean'].includes(typeof value));
  return [...new Set(plain)].map((value) => {
    const label = String(value);
    const kind = CompletionItemKind.Value;
    const about = aboutType(around, label) ?? info.description;
    return withQuotes({ label, kind, insert: label, about }, isJson && !quoted && label === value);
  });
}

function nameOffer(label: string): Offer {
  return { label, kind: CompletionItemKind.Reference, insert: label, about: undefined };
}

function withQuotes(offer: Offer, quoted: boolean): Offer {
  return quoted ? { ...offer, insert: JSON.stringify(offer.insert) } : offer;
}

function itemsOf(
  document: TextDocument,
  offers: readonly Offer[],
  { start, end }: { readonly start: number; readonly end: number },
): CompletionItem[] {
  const range = { start: document.positionAt(start), end: document.positionAt(end) };
  return offers.map(({ label, kind, insert, about, isRequired = false }, index) => ({
    label,
    kind,
    // Required ones first; the others in the order of the schema.
    sortText: `${isRequired ? 0 : 1}${String(index).padStart(4, '0')}`,
    filterText: insert.startsWith('"') ? insert : label,
    insertTextFormat: InsertTextFormat.PlainText,
    textEdit: { range, newText: insert },
    ...(isRequired ? { detail: 'required' } : {}),
    ...(about === undefined ? {} : { documentation: { kind: MarkupKind.Markdown, value: about } }),
  }));
}
