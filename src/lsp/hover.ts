import { MarkupKind, type Hover } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { parseTree, wordsOf } from './document-tree.ts';
import { aboutType, fieldInfo, nodesAt, type FieldInfo, type SchemaNode } from './schema-at.ts';

/** More would not fit beside the text. */
const MOST_VALUES = 20;

export function hoverAt(
  document: TextDocument,
  offset: number,
  root: SchemaNode,
): Hover | undefined {
  const tree = parseTree(document.getText());
  const word = wordsOf(tree).find(({ start, end }) => start <= offset && offset <= end);
  if (word === undefined) return undefined;
  const { path, role, text, start, end } = word;
  const name = path.findLast((step) => typeof step === 'string') ?? '';
  const range = { start: document.positionAt(start), end: document.positionAt(end) };
  const part =
    role === 'value' && name === 'type'
      ? aboutType(nodesAt(root, tree, path.slice(0, -1)), text)
      : undefined;
  const info = fieldInfo(root, tree, path);
  const value = part === undefined ? info && fieldText(name, info) : `**${text}**\n\n${part}`;
  return value === undefined
    ? undefined
    : { contents: { kind: MarkupKind.Markdown, value }, range };
}

function fieldText(name: string, info: FieldInfo): string | undefined {
  const { description, types, values, examples, fallback } = info;
  if (description === undefined && types.length === 0) return undefined;
  const code = (value: unknown): string => `\`${JSON.stringify(value)}\``;
  const listed = values.slice(0, MOST_VALUES).map(code);
  if (values.length > MOST_VALUES) listed.push(`and ${values.length - MOST_VALUES} more`);
  const facts = [
    ...(types.length === 0 ? [] : [`Type: ${types.join(' or ')}`]),
    ...(fallback === undefined ? [] : [`Default: ${code(fallback)}`]),
    ...(listed.length === 0 ? [] : [`Values: ${listed.join(', ')}`]),
    ...(examples.length === 0 || listed.length > 0
      ? []
      : [`Examples: ${examples.map(code).join(', ')}`]),
  ];
  return [`**${name}**`, description, facts.join('  \n')]
    .filter((one) => one !== undefined && one !== '')
    .join('\n\n');
}
