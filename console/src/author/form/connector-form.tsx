/**
 * A source, a sink or the transforms of the document as a form, which is made of the schemas of their
 * kinds.
 */
import { useMemo, useState } from 'preact/hooks';
import { answerOf } from '../../lib/answer.ts';
import { useAsked } from '../../lib/use-asked.ts';
import { AskedView } from '../../parts/asked-view.tsx';
import type { Issue } from '../../parts/failure.tsx';
import { T } from '../../texts.ts';
import { isMapping, valueAt, valuesOf, withValue, type Step, type Value } from './edit-yaml.ts';
import type { Form } from './field.tsx';
import { issuesAt, nameOf, placesOf, type Role } from './fields.ts';
import { Settings } from './settings.tsx';
import { TransformList } from './transform-list.tsx';
import { Wrong } from './wrong.tsx';

interface ConnectorFormProps {
  readonly text: string;
  readonly issues: readonly Issue[];
  readonly onText: (text: string) => void;
}

export function ConnectorForm({ text, issues, onText }: ConnectorFormProps) {
  const values = useMemo(() => valuesOf(text), [text]);
  const places = useMemo(() => placesOf(values), [values]);
  const [chosen, setChosen] = useState('');
  const place = places.find(({ steps }) => nameOf(steps) === chosen) ?? places[0];
  const { form: words } = T.author;
  if (values === undefined || place === undefined) return <p class="notice">{words.unreadable}</p>;
  const set = (steps: readonly Step[], value: Value): boolean => {
    const versioned = isMapping(values) && values['version'] === undefined;
    const base = versioned ? withValue(text, ['version'], 1) : text;
    const next = base === undefined ? undefined : withValue(base, steps, value);
    if (next === undefined) return false;
    if (next !== text) onText(next);
    return true;
  };
  const form: Form = { values, issues, kind: '', set };
  return (
    <div class="connector-form">
      <label class="field">
        <span>{words.place}</span>
        <select
          value={nameOf(place.steps)}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        >
          {places.map(({ steps }) => (
            <option key={nameOf(steps)} value={nameOf(steps)}>
              {nameOf(steps)}
            </option>
          ))}
        </select>
      </label>
      {place.role === 'transforms' ? (
        <TransformList
          key={nameOf(place.steps)}
          text={text}
          steps={place.steps}
          form={form}
          onText={onText}
        />
      ) : (
        <Part key={nameOf(place.steps)} steps={place.steps} role={place.role} form={form} />
      )}
    </div>
  );
}

interface PartProps {
  readonly steps: readonly Step[];
  readonly role: Role;
  readonly form: Form;
}

function Part({ steps, role, form }: PartProps) {
  const asked = useAsked(async (client, signal) =>
    answerOf(await client.routes.GET('/v1/schemas', { signal })),
  );
  const part = valueAt(form.values, steps);
  const kind = isMapping(part) && typeof part['type'] === 'string' ? part['type'] : '';
  const reference = isMapping(part) && typeof part['ref'] === 'string' ? part['ref'] : undefined;
  const { form: words } = T.author;
  if (reference !== undefined)
    return <p class="notice">{words.refers(`pipeline.${role}s.${reference}`)}</p>;
  return (
    <AskedView of={asked}>
      {({ sources, sinks }) => {
        const kinds = role === 'source' ? sources : sinks;
        const known = kinds.some(({ name }) => name === kind);
        return (
          <>
            <label class="field">
              <span>{role === 'source' ? words.sourceKind : words.sinkKind}</span>
              <select
                value={kind}
                onChange={({ currentTarget }) => form.set([...steps, 'type'], currentTarget.value)}
              >
                {kind === '' ? <option value="">{words.choose}</option> : null}
                {known || kind === '' ? null : <option value={kind}>{kind}</option>}
                {kinds.map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <Wrong of={issuesAt(form.issues, steps, ['config'])} />
            {kind === '' ? null : (
              <Settings key={kind} steps={steps} role={role} form={{ ...form, kind }} />
            )}
          </>
        );
      }}
    </AskedView>
  );
}
