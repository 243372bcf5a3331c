/** The editor of documents. It is loaded when somebody writes one. */
import {
  autocompletion,
  closeBrackets,
  completionKeymap,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import schemaAddress from '../../../schemas/headgate.schema.json?url';
import type { Issue } from '../parts/failure.tsx';
import { placeAt } from './place.ts';
import { describe, keysAt, valuesOf, type Offer, type SchemaNode } from './schema.ts';

export interface DocumentEditor {
  readonly focus: () => void;
  readonly text: () => string;
  readonly replace: (text: string) => void;
  /** Marks problems at their lines. */
  readonly mark: (issues: readonly Issue[]) => void;
  readonly goTo: (line: number, column?: number) => void;
  readonly destroy: () => void;
}

interface EditorOptions {
  readonly parent: HTMLElement;
  readonly text: string;
  readonly label: string;
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
}

let loading: Promise<SchemaNode> | undefined;

function schema(): Promise<SchemaNode> {
  loading ??= fetch(schemaAddress).then(async (answer) => (await answer.json()) as SchemaNode);
  loading.catch(() => {
    loading = undefined;
  });
  return loading;
}

/** In a tree of its own, to which style sheets are given without a `<style>` element: those are forbidden. */
export function openEditor({
  parent,
  text,
  label,
  onChange,
  onSubmit,
}: EditorOptions): DocumentEditor {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of('  '),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        yaml(),
        syntaxHighlighting(COLOURS),
        autocompletion({ override: [complete], icons: false }),
        hoverTooltip(help),
        // It scrolls, and is told to be reached with the keyboard.
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
        keymap.of([
          { key: 'Mod-Enter', run: () => (onSubmit(), true) },
          // Who has no mouse leaves the editor with Escape and then Tab.
          indentWithTab,
          ...completionKeymap,
          ...lintKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        LOOKS,
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    text: () => view.state.doc.toString(),
    replace: (next) => view.dispatch({ changes: changeTo(view.state.doc.toString(), next) }),
    mark: (issues) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          issues.map((issue) => diagnosticOf(issue, view.state)),
        ),
      ),
    goTo(line, column = 1) {
      const at = offsetOf(view.state, line, column);
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

/** Only what differs, so that cursor and marks stay where they are. */
function changeTo(before: string, after: string) {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from += 1;
  let same = 0;
  while (same < most - from && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}

function offsetOf({ doc }: EditorState, line: number, column: number): number {
  const found = doc.line(Math.max(1, Math.min(doc.lines, line)));
  return Math.min(found.to, found.from + Math.max(0, column - 1));
}

/** From where the problem begins to the end of its word, and at least one letter. */
function diagnosticOf(
  { line = 1, column = 1, message, hint, code }: Issue,
  state: EditorState,
): Diagnostic {
  const from = offsetOf(state, line, column);
  const { to: end } = state.doc.lineAt(from);
  const word = /^[^\s:,]+/.exec(state.sliceDoc(from, end))?.[0].length ?? 0;
  return {
    from,
    to: Math.min(end, from + Math.max(1, word)),
    severity: 'error',
    message: hint === undefined ? message : `${message}\n${hint}`,
    ...(code === undefined ? {} : { source: code }),
  };
}

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[\w.$-]*$/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const root = await schema();
  const text = context.state.doc.toString();
  const { levels, valueKey } = placeAt(text, context.pos);
  const offers = valueKey === undefined ? keysAt(root, levels) : valuesOf(root, levels, valueKey);
  if (offers.length === 0) return null;
  const { column, isFlow } = columnAt(context);
  const options = offers.map((offer) =>
    completionOf(offer, valueKey === undefined, isFlow ? undefined : column),
  );
  return { from: word.from, options, validFor: /^[\w.$-]*$/ };
}

/** How deep what is typed stands, and whether within brackets. */
function columnAt({ state, pos }: CompletionContext): {
  readonly column: number;
  readonly isFlow: boolean;
} {
  const line = state.doc.lineAt(pos);
  const before = state.sliceDoc(line.from, pos);
  const column = /^[\s-]*/.exec(before)?.[0].length ?? 0;
  return { column, isFlow: /[{[][^}\]]*$/.test(before) };
}

function completionOf(offer: Offer, isKey: boolean, column: number | undefined): Completion {
  const { label, description, opens, isRequired } = offer;
  const inner = column === undefined ? undefined : `\n${' '.repeat(column + 2)}`;
  const end =
    opens === undefined || inner === undefined ? ' ' : opens === 'list' ? `${inner}- ` : inner;
  return {
    label,
    ...(isKey ? { apply: `${label}:${end}` } : {}),
    ...(description === '' ? {} : { info: description }),
    ...(isRequired ? { boost: 10 } : {}),
  };
}

async function help(view: EditorView, pos: number) {
  const line = view.state.doc.lineAt(pos);
  const text = view.state.sliceDoc(line.from, line.to);
  const found = [...text.matchAll(/([\w.-]+)\s*:/g)].find(
    ({ index, 1: key = '' }) => pos >= line.from + index && pos <= line.from + index + key.length,
  );
  const key = found?.[1];
  if (found === undefined || key === undefined) return null;
  const from = line.from + found.index;
  const { levels } = placeAt(view.state.doc.toString(), from);
  const description = describe(await schema(), levels, key);
  if (description === undefined) return null;
  return {
    pos: from,
    end: from + key.length,
    above: true,
    create: () => {
      const dom = document.createElement('div');
      dom.className = 'cm-help';
      dom.textContent = description;
      return { dom };
    },
  };
}

export const COLOURS = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: 'var(--code-key)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-value)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.meta, tags.labelName, tags.typeName], color: 'var(--accent)' },
]);

export const LOOKS: Extension = EditorView.theme({
  '&': {
    height: '100%',
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    fontSize: '13px',
  },
  '&.cm-focused': { outline: 'none' },
  // Above the line numbers, too.
  '&.cm-focused::after': {
    content: '""',
    position: 'absolute',
    inset: '0',
    zIndex: '300',
    border: '2px solid var(--accent)',
    borderRadius: '9px',
    pointerEvents: 'none',
  },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    {
      backgroundColor: 'var(--selection)',
    },
  '.cm-selectionMatch': { backgroundColor: 'var(--selection)' },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--raised)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    maxWidth: '32rem',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-help, .cm-completionInfo': {
    padding: '6px 10px',
    maxWidth: '28rem',
    font: '13px var(--sans)',
  },
  '.cm-diagnostic': { whiteSpace: 'pre-wrap', font: '13px var(--sans)', padding: '6px 10px' },
  // The library draws these with images that the policy of the page forbids.
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textDecorationSkipInk: 'none',
  },
  '.cm-lint-marker-error': { content: 'none' },
  '.cm-lint-marker': {
    width: '9px',
    height: '9px',
    margin: '5px 1px',
    backgroundColor: 'var(--bad)',
    borderRadius: '50%',
  },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--raised)' },
});
