/**
 * The inner loop of CSV → JSON Lines as a WebAssembly module: one pass that finds the cells and
 * writes them, sixteen bytes at a time. Before a row that cannot be written the loop stops and says
 * why; nothing of that row is in the output.
 */
import { ESCAPED, MISSING, NULL, TEXT } from '../../kit/columns.ts';
import { CARRIAGE_RETURN, LINE_FEED } from '../../kit/csv-dialect.ts';
import {
  add,
  and,
  atLeast,
  block,
  bump,
  eitherBits,
  equal,
  equalBytes,
  functionModule,
  get,
  greater,
  highBits,
  I32,
  int,
  leave,
  leaveWhen,
  lesserBytes,
  loadByte,
  loadTwoWords,
  loadVector,
  loadWord,
  loop,
  multiply,
  not,
  or,
  set,
  shiftLeft,
  splatBytes,
  storeByte,
  storeTwoBytes,
  storeTwoWords,
  storeVector,
  storeWord,
  subtract,
  trailingZeros,
  unequal,
  V128,
  when,
  type Code,
} from '../wasm/wasm-code.ts';

export interface CsvLineExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** Converts rows and returns the index of a reason in `STOPS`; `WORDS` has its arguments and results. */
  readonly convert: () => number;
}

/** Why the loop stopped; it returns the index in this list. */
export const STOPS = ['input', 'rows', 'page', 'room', 'width'] as const;
const [INPUT, ROWS, PAGE, ROOM, WIDTH] = [0, 1, 2, 3, 4];

const WORD_NAMES = [
  // State of the loop, which it updates.
  'at',
  'to',
  'line',
  'afterReturn',
  'rows',
  // Arguments.
  'end',
  'toEnd',
  'most',
  'base',
  'pageBytes',
  'delimiter',
  'quote',
  'flexible',
  'width',
  'labels',
  'nulls',
  'nullsEnd',
  'markStep',
  'starts',
  'ends',
  'kinds',
] as const;

/** The address of each argument and result in memory, four bytes each. */
export const WORDS = Object.fromEntries(
  WORD_NAMES.map((name, index) => [name, index * 4]),
) as Record<(typeof WORD_NAMES)[number], number>;

/** Eight bytes for every byte value: its form in a JSON text, and in the last byte its length. */
export const ESCAPES_AT = 256;
export const ESCAPE_BYTES = 8;
const ESCAPE_LENGTH_AT = 7;
/** The end of the tables of fixed size. */
export const TABLES_END = ESCAPES_AT + 256 * ESCAPE_BYTES;

export const VECTOR_BYTES = 16;
/** A label: its length, then from here on its bytes, up to a whole vector. */
export const LABEL_HEAD = VECTOR_BYTES;
/** A null: its length, then from here on its bytes as written in a JSON text. */
export const NULL_HEAD = 4;

/**
 * Space that a cell may need after its text: the rest of a vector, an escape, the closing quote, the
 * brace and the line end.
 */
const SPARE_ROOM = 3 * VECTOR_BYTES;

const LAST_CONTROL = 0x1f;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE_AND_LINE_FEED = 0x0a7d;
const NULL_WORD = Buffer.from('null').readInt32LE();

const NUMBERS = [
  'at',
  'to',
  'line',
  'afterReturn',
  'rows',
  'end',
  'toEnd',
  'most',
  'base',
  'pageBytes',
  'delimiter',
  'quote',
  'width',
  'markStep',
  'rowStart',
  'rowMark',
  'rowLine',
  'cell',
  'label',
  'length',
  'mark',
  'start',
  'kind',
  'byte',
  'found',
  'place',
  'entry',
  'stop',
] as const;
const VECTORS = ['text', 'delimiters', 'ownQuotes', 'quotes', 'backslashes', 'controls'] as const;
type Local = (typeof NUMBERS)[number] | (typeof VECTORS)[number];
const PLACES = new Map<string, number>(
  [...NUMBERS, ...VECTORS].map((name, index) => [name, index]),
);

const place = (local: Local): number => PLACES.get(local) as number;
const $ = (local: Local): Code => get(place(local));
const put = (local: Local, value: Code): Code => set(place(local), value);
const move = (local: Local, by: Code): Code => bump(place(local), by);
const setting = (name: keyof typeof WORDS): Code => loadWord(int(WORDS[name]));

export function csvLineModule(): Uint8Array {
  const body = [
    ...(
      ['at', 'to', 'line', 'afterReturn', 'end', 'toEnd', 'most', 'base', 'pageBytes'] as const
    ).flatMap((name) => put(name, setting(name))),
    ...(['delimiter', 'quote', 'width', 'markStep'] as const).flatMap((name) =>
      put(name, setting(name)),
    ),
    ...put('delimiters', splatBytes($('delimiter'))),
    ...put('ownQuotes', splatBytes($('quote'))),
    ...put('quotes', splatBytes(int(QUOTE))),
    ...put('backslashes', splatBytes(int(BACKSLASH))),
    ...put('controls', splatBytes(int(LAST_CONTROL))),
    ...block('done', block('undo', loop('row', nextRow(), row(), leave('row'))), undo()),
    ...(['at', 'to', 'line', 'afterReturn', 'rows'] as const).flatMap((name) =>
      storeWord(int(WORDS[name]), $(name)),
    ),
    ...$('stop'),
  ];
  const locals = [...NUMBERS.map(() => I32), ...VECTORS.map(() => V128)];
  return functionModule({
    name: 'convert',
    params: 0,
    returnsNumber: true,
    locals,
    body,
    pages: 1,
  });
}

/** Ends the loop; a row that was begun is removed from the output. */
const stopAt = (why: number, how: 'undo' | 'done'): Code => [
  ...put('stop', int(why)),
  ...leave(how),
];

function undo(): Code {
  return [...put('at', $('rowStart')), ...put('to', $('rowMark')), ...put('line', $('rowLine'))];
}

/** Passes empty lines. */
function nextRow(): Code {
  const isLineEnd = or(equal($('byte'), int(LINE_FEED)), equal($('byte'), int(CARRIAGE_RETURN)));
  return [
    ...when(atLeast($('rows'), $('most')), stopAt(ROWS, 'done')),
    ...block(
      'found',
      loop(
        'empty',
        when(atLeast($('at'), $('end')), stopAt(INPUT, 'done')),
        put('byte', loadByte($('at'))),
        leaveWhen('found', not(isLineEnd)),
        // The line feed of CRLF does not end another line.
        move('line', or(equal($('byte'), int(CARRIAGE_RETURN)), not($('afterReturn')))),
        endLine(),
        leave('empty'),
      ),
    ),
  ];
}

/** Passes the byte that ends a line. */
function endLine(): Code {
  return [...put('afterReturn', equal($('byte'), int(CARRIAGE_RETURN))), ...move('at', int(1))];
}

function row(): Code {
  const isLonger = greater(add($('to'), $('base')), $('pageBytes'));
  const isFirst = equal(add($('rowMark'), $('base')), int(0));
  return [
    ...put('rowStart', $('at')),
    ...put('rowMark', $('to')),
    ...put('rowLine', $('line')),
    ...put('cell', int(0)),
    ...put('label', setting('labels')),
    ...storeByte($('to'), int(OPEN)),
    ...move('to', int(1)),
    ...loop('cell', label(), cell(), leaveWhen('cell', equal($('byte'), $('delimiter')))),
    ...absentCells(),
    ...storeTwoBytes($('to'), int(CLOSE_AND_LINE_FEED)),
    ...move('to', int(2)),
    ...when(and(unequal($('cell'), $('width')), not(setting('flexible'))), stopAt(WIDTH, 'undo')),
    ...when(and(isLonger, not(isFirst)), stopAt(PAGE, 'undo')),
    ...move('line', int(1)),
    ...put('afterReturn', equal($('byte'), int(CARRIAGE_RETURN))),
    ...move('rows', int(1)),
  ];
}

function label(): Code {
  const behind = (vectors: Code): Code =>
    and(add(vectors, int(VECTOR_BYTES - 1)), int(-VECTOR_BYTES));
  return [
    ...when(equal($('cell'), $('width')), stopAt(WIDTH, 'undo')),
    ...put('length', loadWord($('label'))),
    ...when(
      atLeast(add(add($('to'), $('length')), int(SPARE_ROOM)), $('toEnd')),
      stopAt(ROOM, 'undo'),
    ),
    ...put('label', add($('label'), int(LABEL_HEAD))),
    ...put('place', int(0)),
    ...loop(
      'label',
      storeVector(add($('to'), $('place')), loadVector(add($('label'), $('place')))),
      move('place', int(VECTOR_BYTES)),
      leaveWhen('label', greater($('length'), $('place'))),
    ),
    ...move('to', $('length')),
    ...move('label', behind($('length'))),
  ];
}

function cell(): Code {
  return [
    ...put('mark', $('to')),
    ...put('start', $('to')),
    ...put('kind', int(TEXT)),
    ...when(equal(loadByte($('at')), $('quote')), move('at', int(1)), quotedPart()),
    ...plainPart(),
    ...move('at', int(1)),
    ...block('ended', nullCell(), mark(), storeByte($('to'), int(QUOTE)), move('to', int(1))),
    ...move('cell', int(1)),
  ];
}

/**
 * Copies up to the first byte that must be escaped in JSON or has a meaning in CSV, and puts that one
 * into `byte`.
 */
function copyRun(again: string, meant: Code, ending: Code): Code {
  const written = loadVector($('at'));
  const control = equalBytes(lesserBytes($('text'), $('controls')), $('text'));
  const special = eitherBits(
    eitherBits(equalBytes($('text'), meant), control),
    eitherBits(equalBytes($('text'), $('quotes')), equalBytes($('text'), $('backslashes'))),
  );
  return [
    ...when(greater($('to'), subtract($('toEnd'), int(SPARE_ROOM))), stopAt(ROOM, 'undo')),
    ...put('text', written),
    ...storeVector($('to'), $('text')),
    ...put('found', highBits(special)),
    ...when(
      not($('found')),
      move('at', int(VECTOR_BYTES)),
      move('to', int(VECTOR_BYTES)),
      ending,
      leave(again),
    ),
    ...put('found', trailingZeros($('found'))),
    ...move('at', $('found')),
    ...move('to', $('found')),
    ...ending,
    ...put('byte', loadByte($('at'))),
  ];
}

/** Up to and including the closing quote. */
function quotedPart(): Code {
  // The closing quote may be beyond the bytes that have been read.
  const ending = when(atLeast($('at'), $('end')), stopAt(INPUT, 'undo'));
  return block(
    'closed',
    loop(
      'quoted',
      copyRun('quoted', $('ownQuotes'), ending),
      when(
        equal($('byte'), $('quote')),
        move('at', int(1)),
        put('byte', loadByte($('at'))),
        leaveWhen('closed', unequal($('byte'), $('quote'))),
      ),
      move('line', equal($('byte'), int(LINE_FEED))),
      escaped(),
      leave('quoted'),
    ),
  );
}

/** Up to the delimiter or the line end, one of which comes before the bytes at hand end. */
function plainPart(): Code {
  const isEnd = or(
    equal($('byte'), $('delimiter')),
    or(equal($('byte'), int(LINE_FEED)), equal($('byte'), int(CARRIAGE_RETURN))),
  );
  return block(
    'over',
    loop(
      'plain',
      copyRun('plain', $('delimiters'), []),
      leaveWhen('over', isEnd),
      escaped(),
      leave('plain'),
    ),
  );
}

/** Writes a byte the way JSON spells it. */
function escaped(): Code {
  return [
    ...put('kind', int(ESCAPED)),
    ...put('entry', shiftLeft($('byte'), int(Math.log2(ESCAPE_BYTES)))),
    ...storeTwoWords($('to'), loadTwoWords($('entry'), ESCAPES_AT)),
    ...move('to', loadByte($('entry'), ESCAPES_AT + ESCAPE_LENGTH_AT)),
    ...move('at', int(1)),
  ];
}

/** A cell that reads like one of the nulls becomes that, without the quote before it. */
function nullCell(): Code {
  const isNull = [
    ...put('start', subtract($('mark'), int(1))),
    ...put('to', add($('start'), int(4))),
    ...storeWord($('start'), int(NULL_WORD)),
    ...put('kind', int(NULL)),
    ...mark(),
    ...leave('ended'),
  ];
  const compare = block(
    'unlike',
    put('place', int(0)),
    loop(
      'alike',
      when(equal($('place'), $('length')), isNull),
      leaveWhen(
        'unlike',
        unequal(
          loadByte(add($('mark'), $('place'))),
          loadByte(add($('entry'), $('place')), NULL_HEAD),
        ),
      ),
      move('place', int(1)),
      leave('alike'),
    ),
  );
  return [
    ...put('entry', setting('nulls')),
    ...block(
      'none',
      loop(
        'nulls',
        leaveWhen('none', atLeast($('entry'), setting('nullsEnd'))),
        put('length', loadWord($('entry'))),
        when(equal(subtract($('to'), $('mark')), $('length')), compare),
        move('entry', add($('length'), int(NULL_HEAD))),
        leave('nulls'),
      ),
    ),
  ];
}

/** Stores the place of the cell in its page, if requested. */
function mark(): Code {
  const word = shiftLeft($('place'), int(2));
  return when(
    $('markStep'),
    put('place', add($('rows'), multiply($('cell'), $('markStep')))),
    storeWord(add(setting('starts'), word), add($('start'), $('base'))),
    storeWord(add(setting('ends'), word), add($('to'), $('base'))),
    storeByte(add(setting('kinds'), $('place')), $('kind')),
  );
}

/** A row may have fewer cells than there are labels. */
function absentCells(): Code {
  return when(
    $('markStep'),
    put('length', $('cell')),
    block(
      'all',
      loop(
        'absent',
        leaveWhen('all', atLeast($('length'), $('width'))),
        put('place', add($('rows'), multiply($('length'), $('markStep')))),
        storeByte(add(setting('kinds'), $('place')), int(MISSING)),
        move('length', int(1)),
        leave('absent'),
      ),
    ),
  );
}
