/** Two versions of a document, with what changed between them. Loaded when somebody compares. */
import { unifiedMergeView } from '@codemirror/merge';
import { yaml } from '@codemirror/lang-yaml';
import { syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { COLOURS, LOOKS } from './editor.ts';

interface CompareOptions {
  readonly parent: HTMLElement;
  readonly before: string;
  readonly after: string;
  readonly label: string;
}

/** Gives what takes it away again. */
export function showDifference({ parent, before, after, label }: CompareOptions): () => void {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: after,
      extensions: [
        lineNumbers(),
        yaml(),
        syntaxHighlighting(COLOURS),
        EditorState.readOnly.of(true),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          collapseUnchanged: { margin: 3, minSize: 8 },
        }),
        LOOKS,
        MARKS,
      ],
    }),
  });
  return () => view.destroy();
}

const MARKS = EditorView.theme({
  '.cm-changedLine, &.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': {
    backgroundColor: 'color-mix(in srgb, var(--ok) 12%, transparent)',
  },
  '.cm-changedText, &.cm-merge-b .cm-changedText': {
    background: 'color-mix(in srgb, var(--ok) 24%, transparent)',
  },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-soft)' },
  '.cm-deletedChunk .cm-deletedText': {
    background: 'color-mix(in srgb, var(--bad) 22%, transparent)',
  },
  '.cm-collapsedLines': { color: 'var(--muted)', background: 'var(--hover)' },
  '.cm-changeGutter': { width: '3px', paddingLeft: '1px' },
  '.cm-changedLineGutter': { background: 'var(--ok)' },
  '.cm-deletedLineGutter': { background: 'var(--bad)' },
});
