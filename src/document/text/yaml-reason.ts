/** Why a text is no YAML, in words that help whoever wrote it. */

interface YamlReason {
  /** What is wrong; as the parser says it when absent. */
  readonly says?: string;
  readonly hint?: string;
}

const CLOSE_QUOTE = 'close it with the quote that it begins with';
const COLUMN = 'begin all entries of one mapping or list in the same column, with spaces';
const QUOTES = 'put the text into quotes';

/** By how the parser begins its sentence. */
const REASONS: readonly (readonly [string, Required<YamlReason>])[] = [
  [
    'deficient indentation',
    {
      says: 'this line begins too far to the left for what is still open above it',
      hint: 'close the `{`, `[` or quote above, or indent this line further',
    },
  ],
  [
    'bad indentation of a mapping entry',
    {
      says: 'this does not fit into the mapping that it stands in',
      hint: `${COLUMN}; a text that holds \`: \` needs quotes`,
    },
  ],
  [
    'bad indentation of a sequence entry',
    { says: 'this does not fit into the list that it stands in', hint: COLUMN },
  ],
  [
    'can not read a block mapping entry',
    {
      says: 'a line is neither a key with a value nor a part of a text',
      hint: 'write `key: value` in this line and in the one above, with a colon and a blank',
    },
  ],
  [
    "expected ':' after a mapping key",
    { says: 'a key has no colon', hint: 'write `key: value`, with a colon and a blank' },
  ],
  [
    'a whitespace character is expected',
    {
      says: 'a blank is missing behind the colon of a key',
      hint: 'write `key: value`, with a colon and a blank',
    },
  ],
  [
    'end of the stream or a document separator',
    { says: 'this does not belong to what stands above it', hint: COLUMN },
  ],
  [
    'missed comma',
    {
      says: 'a comma is missing between entries of `{…}` or `[…]`',
      hint: 'separate the entries by commas, and close the bracket behind the last one',
    },
  ],
  [
    'expected the node content',
    { says: 'there is a comma where a value should be', hint: 'remove it, or write the value' },
  ],
  [
    'unexpected end of the stream within a flow collection',
    { says: 'a `{` or `[` is never closed', hint: 'close it with `}` or `]`' },
  ],
  [
    'unexpected end of the stream within a double',
    { says: 'a text in double quotes is never closed', hint: CLOSE_QUOTE },
  ],
  [
    'unexpected end of the stream within a single',
    { says: 'a text in single quotes is never closed', hint: CLOSE_QUOTE },
  ],
  [
    'unknown escape sequence',
    {
      says: 'a backslash in double quotes begins no escape that there is',
      hint: 'write `\\\\` for a backslash, or use single quotes, in which it stands for itself',
    },
  ],
  [
    'unidentified alias',
    {
      says: 'a text that begins with `*` is an alias, and nothing has this name',
      hint: QUOTES,
    },
  ],
  [
    'name of an alias node',
    { says: 'a text that begins with `*` is an alias, and this one has no name', hint: QUOTES },
  ],
  [
    'name of an anchor node',
    { says: 'a text that begins with `&` is an anchor, and this one has no name', hint: QUOTES },
  ],
  ['tab characters', { says: 'a line is indented with a tab', hint: 'indent it with spaces' }],
  [
    'the stream contains non-printable characters',
    {
      says: 'it holds characters that cannot be printed',
      hint: 'remove them, or write them as escapes in double quotes, such as `"\\u0007"`',
    },
  ],
];

export function yamlReason(reason: string): YamlReason {
  return REASONS.find(([begins]) => reason.startsWith(begins))?.[1] ?? {};
}
