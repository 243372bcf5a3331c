/** One setting with its description, its value and what is wrong with it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Issue } from '../../parts/failure.tsx';
import { Marked } from '../../parts/marked.tsx';
import { T } from '../../texts.ts';
import {
  ChoiceControl,
  LinesControl,
  TextControl,
  ValueControl,
  type ControlProps,
} from './controls.tsx';
import { isMapping, valueAt, type Step, type Value } from './edit-yaml.ts';
import {
  controlOf,
  entrySchemaOf,
  hasToken,
  issuesAt,
  variableFor,
  variantOf,
  variantsOf,
  type Schema,
} from './fields.ts';
import { Wrong } from './wrong.tsx';

export interface Form {
  /** Of the whole document. */
  readonly values: Value;
  readonly issues: readonly Issue[];
  readonly kind: string;
  /** False: the text has to be changed by hand there. */
  readonly set: (steps: readonly Step[], value: Value) => boolean;
}

interface FieldProps {
  readonly form: Form;
  readonly steps: readonly Step[];
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly empty?: '';
}

export function Field(props: FieldProps) {
  const { form, steps, schema } = props;
  const control = controlOf(schema);
  if (control === 'members' || control === 'variants') return <Group {...props} />;
  const value = valueAt(form.values, steps);
  const entry = isMapping(value ?? {}) ? entrySchemaOf(schema) : undefined;
  return entry === undefined ? <Single {...props} /> : <Entries {...props} entry={entry} />;
}

function Single({ form, steps, schema, isRequired, empty }: FieldProps) {
  const id = useId();
  const [broken, setBroken] = useState<string>();
  const [isRefused, setRefused] = useState(false);
  const value = valueAt(form.values, steps);
  const name = String(steps.at(-1));
  const issues = issuesAt(form.issues, steps);
  const isWrong = issues.length > 0 || broken !== undefined || isRefused;
  const props: ControlProps = {
    id,
    describedBy: `${id}-help ${id}-wrong`,
    isWrong,
    isRequired,
    schema,
    value,
    empty,
    onValue: (next) => setRefused(!form.set(steps, next === undefined ? empty : next)),
  };
  return (
    <div class="setting">
      <label for={id}>
        <code>{name}</code>{' '}
        {isRequired ? <span class="muted">{T.author.form.required}</span> : null}
      </label>
      {controlFor(schema, { ...props, name, onBroken: setBroken })}
      <p id={`${id}-help`} class="muted">
        <Marked text={schema.description} />
      </p>
      <Wrong
        id={`${id}-wrong`}
        of={issues}
        notes={[broken, isRefused ? T.author.form.byHand : undefined]}
      />
      {schema.secret === true ? (
        <SecretHint
          isLiteral={value !== undefined && !hasToken(value)}
          variable={variableFor(form.kind, name)}
          onTake={typeof value === 'object' && value !== null ? undefined : props.onValue}
        />
      ) : null}
    </div>
  );
}

interface NamedProps extends ControlProps {
  readonly name: string;
  readonly onBroken: (why: string | undefined) => void;
}

function controlFor(schema: Schema, { name, onBroken, ...props }: NamedProps) {
  const control = controlOf(schema);
  switch (control) {
    case 'choice':
      return <ChoiceControl {...props} choices={schema.enum ?? [schema.const]} />;
    case 'switch':
      return <ChoiceControl {...props} choices={[true, false]} />;
    case 'lines':
      return <LinesControl {...props} />;
    case 'number':
    case 'text':
      return <TextControl {...props} name={name} isNumber={control === 'number'} />;
    default:
      return <ValueControl {...props} onBroken={onBroken} />;
  }
}

interface SecretProps {
  readonly isLiteral: boolean;
  readonly variable: string;
  readonly onTake: ((value: string) => void) | undefined;
}

/** A secret that stands in the document is stored with it. */
function SecretHint({ isLiteral, variable, onTake }: SecretProps) {
  const token = `\${env:${variable}}`;
  return (
    <p class={isLiteral ? 'notice' : 'muted'}>
      {isLiteral ? T.author.form.secretLiteral : T.author.form.secret}{' '}
      {onTake === undefined ? null : (
        <button type="button" class="link" onClick={() => onTake(token)}>
          {T.author.form.secretTake(token)}
        </button>
      )}
    </p>
  );
}

/** The keys whose problems are shown beside them. */
export function membersOf(schema: Schema | undefined, value: Value): readonly string[] {
  return [...Object.keys(schema?.properties ?? {}), ...Object.keys(isMapping(value) ? value : {})];
}

interface SettingsProps {
  readonly id: string;
  readonly of: FieldProps;
  readonly isOpen: boolean;
  readonly children: ComponentChildren;
}

/** Settings that belong together, which open and close; `${id}-help` says what they are for. */
function Settings({ id, of: { steps, schema, isRequired }, isOpen, children }: SettingsProps) {
  return (
    <details class="setting group" open={isOpen}>
      <summary>
        <code>{String(steps.at(-1))}</code>{' '}
        {isRequired ? <span class="muted">{T.author.form.required}</span> : null}
      </summary>
      <p id={`${id}-help`} class="muted">
        <Marked text={schema.description} />
      </p>
      {children}
    </details>
  );
}

/** A map with settings of its own, in one form or in one of several. */
function Group({ form, steps, schema, isRequired }: FieldProps) {
  const id = useId();
  const value = valueAt(form.values, steps);
  const [isRefused, setRefused] = useState(false);
  const variants = variantsOf(schema);
  const variant = variants === undefined ? undefined : variantOf(variants, value);
  const inner = variants === undefined ? schema : variant?.schema;
  const own = issuesAt(form.issues, steps, membersOf(inner, value));
  const isUsed = value !== undefined || isRequired || issuesAt(form.issues, steps).length > 0;
  const choose = (name: string): void => {
    const chosen = variants?.find((one) => one.name === name);
    const next =
      chosen === undefined
        ? undefined
        : chosen.mark === undefined
          ? { [chosen.name]: '' }
          : { [chosen.mark.key]: chosen.mark.value };
    setRefused(!form.set(steps, next));
  };
  return (
    <Settings id={id} of={{ form, steps, schema, isRequired }} isOpen={isUsed}>
      {variants === undefined ? null : (
        <select
          aria-label={T.author.form.formOf(String(steps.at(-1)))}
          aria-describedby={`${id}-help`}
          value={variant?.name ?? ''}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          <option value="">
            {schema.default === undefined
              ? T.author.form.notSet
              : T.author.form.default(JSON.stringify(schema.default))}
          </option>
          {variants.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      {variants !== undefined && value !== undefined && variant === undefined ? (
        <p class="notice">{T.author.form.otherForm}</p>
      ) : null}
      <Wrong of={own} notes={[isRefused ? T.author.form.byHand : undefined]} />
      {inner === undefined ? null : (
        <Fields form={form} steps={steps} schema={inner} leftOut={variant?.mark?.key} />
      )}
    </Settings>
  );
}

/** A map whose keys are chosen here: each with its value, and a name for one more. */
function Entries({
  form,
  steps,
  schema,
  isRequired,
  entry,
}: FieldProps & { readonly entry: Schema }) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const [name, setName] = useState('');
  const [added, setAdded] = useState<string>();
  const [isRefused, setRefused] = useState(false);
  const value = valueAt(form.values, steps);
  const keys = isMapping(value) ? Object.keys(value) : [];
  const own = issuesAt(form.issues, steps, keys);
  const isOpen = keys.length > 0 || isRequired || own.length > 0;
  const isThere = added !== undefined && keys.includes(added);
  // What was added is there when the document has it: then its value is what comes next.
  useEffect(() => {
    if (!isThere) return;
    const fields = [...(list.current?.children ?? [])];
    fields[keys.indexOf(added)]?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    setAdded(undefined);
  }, [isThere]);
  const add = (): void => {
    if (name === '') return;
    setAdded(name);
    setName('');
    if (!keys.includes(name)) setRefused(!form.set([...steps, name], entry.enum?.[0] ?? ''));
  };
  return (
    <Settings id={id} of={{ form, steps, schema, isRequired }} isOpen={isOpen}>
      <Wrong of={own} notes={[isRefused ? T.author.form.byHand : undefined]} />
      <div ref={list}>
        {keys.map((key) => (
          <div key={key} class="entry">
            <Field
              form={form}
              steps={[...steps, key]}
              schema={{ ...entry, description: '' }}
              isRequired={false}
              empty=""
            />
            <button
              type="button"
              aria-label={T.author.form.remove(key)}
              onClick={() => setRefused(!form.set([...steps, key], undefined))}
            >
              {T.author.form.removeEntry}
            </button>
          </div>
        ))}
      </div>
      <form
        class="entry"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <input
          type="text"
          value={name}
          aria-label={T.author.form.entryName(String(steps.at(-1)))}
          aria-describedby={`${id}-help`}
          placeholder={T.author.form.entryExample(exampleOf(schema))}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <button type="submit" disabled={name === ''}>
          {T.author.form.addEntry}
        </button>
      </form>
    </Settings>
  );
}

/** The first key of an example. */
function exampleOf({ examples: [example] = [] }: Schema): string | undefined {
  return isMapping(example) ? Object.keys(example)[0] : undefined;
}

interface FieldsProps {
  readonly form: Form;
  readonly steps: readonly Step[];
  readonly schema: Schema;
  /** The key that the choice above has set. */
  readonly leftOut?: string | undefined;
}

/** Required settings, then the others, then what few need; and what stands there and is no setting. */
export function Fields({ form, steps, schema, leftOut }: FieldsProps) {
  const required = new Set(schema.required ?? []);
  const entries = Object.entries(schema.properties ?? {}).filter(([key]) => key !== leftOut);
  const value = valueAt(form.values, steps);
  const isSet = (key: string): boolean => isMapping(value) && value[key] !== undefined;
  const rankOf = ([key, one]: readonly [string, Schema]): number =>
    required.has(key) ? 0 : one.advanced === true && !isSet(key) ? 2 : 1;
  const show = (rank: number): ComponentChildren =>
    entries
      .filter((entry) => rankOf(entry) === rank)
      .map(([key, one]) => (
        <Field
          key={key}
          form={form}
          steps={[...steps, key]}
          schema={one}
          isRequired={required.has(key)}
        />
      ));
  const rare = entries.filter((entry) => rankOf(entry) === 2).length;
  const unknown = Object.keys(isMapping(value) ? value : {}).filter(
    (key) => key !== leftOut && schema.properties?.[key] === undefined,
  );
  return (
    <>
      {show(0)}
      {show(1)}
      {rare === 0 ? null : (
        <details class="rare">
          <summary>{T.author.form.advanced(rare)}</summary>
          {show(2)}
        </details>
      )}
      {schema.properties === undefined ? null : (
        <Unknown form={form} steps={steps} keys={unknown} />
      )}
    </>
  );
}

interface UnknownProps {
  readonly form: Form;
  readonly steps: readonly Step[];
  readonly keys: readonly string[];
}

/** After another kind was chosen: nothing is taken away unasked. */
function Unknown({ form, steps, keys }: UnknownProps) {
  return (
    <>
      {keys.map((key) => (
        <div key={key} class="setting">
          <p>
            <code>{key}</code> {T.author.form.unknown}{' '}
            <button type="button" onClick={() => form.set([...steps, key], undefined)}>
              {T.author.form.remove(key)}
            </button>
          </p>
          <Wrong of={issuesAt(form.issues, [...steps, key])} />
        </div>
      ))}
    </>
  );
}
