/** The settings of a part of the document, made of the schema of its kind. */
import { answerOf } from '../../lib/answer.ts';
import { useAsked } from '../../lib/use-asked.ts';
import { AskedView } from '../../parts/asked-view.tsx';
import { Marked } from '../../parts/marked.tsx';
import { valueAt, type Step } from './edit-yaml.ts';
import { Fields, membersOf, type Form } from './field.tsx';
import { issuesAt, type Schema } from './fields.ts';
import { Wrong } from './wrong.tsx';

interface SettingsProps {
  readonly steps: readonly Step[];
  readonly role: 'source' | 'sink' | 'transform';
  readonly form: Form;
}

export function Settings({ steps, role, form }: SettingsProps) {
  const { kind } = form;
  const asked = useAsked(
    async (client, signal) => {
      const path = { kind: role, name: kind };
      const answer = await client.routes.GET('/v1/schemas/{kind}/{name}', {
        params: { path },
        signal,
      });
      return answerOf(answer) as Schema;
    },
    { about: [role, kind] },
  );
  const config = [...steps, 'config'];
  return (
    <AskedView of={asked}>
      {(schema) => (
        <>
          <p class="muted">
            <Marked text={schema.description} />
          </p>
          <Wrong
            of={issuesAt(form.issues, config, membersOf(schema, valueAt(form.values, config)))}
          />
          <Fields form={form} steps={config} schema={schema} />
        </>
      )}
    </AskedView>
  );
}
