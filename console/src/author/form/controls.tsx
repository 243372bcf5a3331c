/** What a value of a document is typed into. Each shows the value that stands in the document. */
import { useRef, useState } from 'preact/hooks';
import { parseDocument, stringify } from 'yaml';
import { T } from '../../texts.ts';
import { numberOrText, type Schema } from './fields.ts';

export interface ControlProps {
  readonly id: string;
  readonly describedBy: string;
  readonly isWrong: boolean;
  readonly isRequired: boolean;
  readonly schema: Schema;
  readonly value: unknown;
  /** What no text stands for: undefined, but an empty text where a name keeps its place. */
  readonly empty?: '' | undefined;
  /** Undefined takes it out of the document. */
  readonly onValue: (value: unknown) => void;
}

function attributesOf({ id, describedBy, isWrong, isRequired }: ControlProps) {
  return {
    id,
    'aria-describedby': describedBy,
    'aria-invalid': isWrong,
    'aria-required': isRequired,
    spellcheck: false,
    autocomplete: 'off',
  } as const;
}

/** A default or an example, as it is seen while there is no value. */
function standIn({ schema }: ControlProps): string {
  const [example] = schema.examples ?? [];
  if (schema.default !== undefined) return T.author.form.default(plain(schema.default));
  return example === undefined ? '' : T.author.form.example(plain(example));
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * What is typed, which is not always how the document says it: `1.0` is 1 there. What comes from the
 * document, because somebody changed it there, replaces what was typed.
 */
function useDraft(shown: string): [string, (typed: string, becomes: string) => void] {
  const [draft, setDraft] = useState(shown);
  const expected = useRef(shown);
  const isForeign = expected.current !== shown;
  if (isForeign) {
    expected.current = shown;
    setDraft(shown);
  }
  return [
    isForeign ? shown : draft,
    (typed, becomes) => {
      expected.current = becomes;
      setDraft(typed);
    },
  ];
}

const LONG_NAMES = /(^|_)(query|body|sql|statement|template)(_|$)/;

export function TextControl(
  props: ControlProps & { readonly name: string; readonly isNumber: boolean },
) {
  const { value, onValue, isNumber, name, empty } = props;
  const shown = value === undefined || value === null ? '' : plain(value);
  const [draft, setDraft] = useDraft(shown);
  const change = (typed: string): void => {
    const next = typed === '' ? empty : isNumber ? numberOrText(typed) : typed;
    setDraft(typed, next === undefined ? '' : plain(next));
    onValue(next);
  };
  const attributes = {
    ...attributesOf(props),
    placeholder: standIn(props),
    value: draft,
  };
  return draft.includes('\n') || LONG_NAMES.test(name) ? (
    <textarea
      {...attributes}
      rows={Math.min(12, Math.max(3, draft.split('\n').length))}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  ) : (
    <input
      {...attributes}
      type="text"
      inputMode={isNumber ? 'decimal' : undefined}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

export function LinesControl(props: ControlProps) {
  const { value, onValue } = props;
  const shown = Array.isArray(value)
    ? value.map(plain).join('\n')
    : value === undefined
      ? ''
      : plain(value);
  const [draft, setDraft] = useDraft(shown);
  const change = (typed: string): void => {
    const lines = typed.split('\n').filter((line) => line !== '');
    setDraft(typed, lines.join('\n'));
    onValue(lines.length === 0 ? undefined : lines);
  };
  return (
    <textarea
      {...attributesOf(props)}
      rows={Math.min(8, Math.max(2, draft.split('\n').length))}
      placeholder={T.author.form.lines}
      value={draft}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

/** Choices, of which the empty one leaves the default; what else stands there is one more. */
export function ChoiceControl(props: ControlProps & { readonly choices: readonly unknown[] }) {
  const { choices, value, onValue, schema } = props;
  const isOther = value !== undefined && !choices.includes(value);
  const all = isOther ? [...choices, value] : choices;
  return (
    <select
      {...attributesOf(props)}
      value={value === undefined ? '' : String(all.indexOf(value))}
      onChange={({ currentTarget: { value: index } }) =>
        onValue(index === '' ? undefined : all[Number(index)])
      }
    >
      <option value="">
        {schema.default === undefined
          ? T.author.form.notSet
          : T.author.form.default(plain(schema.default))}
      </option>
      {all.map((choice, index) => (
        <option key={index} value={String(index)}>
          {plain(choice)}
        </option>
      ))}
    </select>
  );
}

function asYaml(value: unknown): string {
  return value === undefined ? '' : stringify(value, { lineWidth: 0 }).trimEnd();
}

/** Any value, as YAML. Text that is none is told of, and not taken. */
export function ValueControl(
  props: ControlProps & { readonly onBroken: (why: string | undefined) => void },
) {
  const { value, onValue, onBroken, empty } = props;
  const shown = asYaml(value);
  const [draft, setDraft] = useDraft(shown);
  const change = (typed: string): void => {
    const document = parseDocument(typed, { logLevel: 'silent' });
    const [error] = document.errors;
    if (error !== undefined) {
      setDraft(typed, shown);
      onBroken(T.author.form.noYaml(error.message.split('\n')[0] ?? ''));
      return;
    }
    const next: unknown = typed.trim() === '' ? empty : document.toJS();
    setDraft(typed, asYaml(next));
    onBroken(undefined);
    onValue(next);
  };
  return (
    <textarea
      {...attributesOf(props)}
      rows={Math.min(10, Math.max(3, draft.split('\n').length))}
      placeholder={standIn(props) === '' ? T.author.form.yaml : standIn(props)}
      value={draft}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}
