import { useEffect, useRef, useState } from 'preact/hooks';
import type { TemplateGetAnswer } from '../../../src/client/index.ts';
import { answerOf } from '../lib/answer.ts';
import { linkTo } from '../lib/address.ts';
import { ask, may } from '../lib/session.ts';
import { useAsked } from '../lib/use-asked.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { AskedView } from '../parts/asked-view.tsx';
import { Icon } from '../parts/icons.tsx';
import { Fact, Facts, notify, Time, Value } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';
import { Channels } from './channels.tsx';

/** One template: its channels, and what changed between two of its versions. */
export function Template({ id }: { readonly id: string }) {
  const asked = useAsked(async (client, signal) => read(client, id, 'newest', signal), {
    about: [id],
  });
  return (
    <>
      <a class="back" href={linkTo(['operate', 'templates'])}>
        <Icon name="back" /> {T.operate.tabs.templates}
      </a>
      <AskedView of={asked}>
        {(newest) => <Detail newest={newest} onChanged={asked.reload} />}
      </AskedView>
    </>
  );
}

type Client = Parameters<Parameters<typeof ask>[0]>[0];

async function read(
  client: Client,
  id: string,
  version: string,
  signal: AbortSignal,
): Promise<TemplateGetAnswer> {
  const params = { path: { id }, query: { version } };
  return answerOf(await client.routes.GET('/v1/templates/{id}', { params, signal }));
}

interface DetailProps {
  readonly newest: TemplateGetAnswer;
  readonly onChanged: () => void;
}

function Detail({ newest, onChanged }: DetailProps) {
  const { id, versions, stable, previous, tags, launches } = newest;
  const [after, setAfter] = useState(newest.version);
  const [before, setBefore] = useState(
    stable !== null && stable !== newest.version ? stable : (versions[1] ?? newest.version),
  );
  const [action, setAction] = useState<'launch' | 'rollback'>();
  const { operate: words, template } = T;
  const close = (hasChanged: boolean): void => {
    setAction(undefined);
    if (hasChanged) onChanged();
  };
  const choices = [...new Set([...versions, newest.version])].sort((one, other) => other - one);
  return (
    <>
      <div class="title">
        <h2 class="uri-title">{id}</h2>
        {may('template_admin') ? (
          <div class="actions">
            {previous === null ? null : (
              <button type="button" onClick={() => setAction('rollback')}>
                {template.rollback(previous)}
              </button>
            )}
            {after === stable ? null : (
              <button type="button" class="primary" onClick={() => setAction('launch')}>
                {template.launch(after)}
              </button>
            )}
          </div>
        ) : null}
      </div>
      <Facts>
        <Fact name={words.state}>{newest.status}</Fact>
        <Fact name={words.kind}>{newest.kind}</Fact>
        <Fact name="stable">
          <Value of={stable} />
        </Fact>
        <Fact name="previous">
          <Value of={previous} />
        </Fact>
      </Facts>
      <section class="card">
        <h2>{template.changes}</h2>
        <div class="filters">
          <Choice name={template.before} value={before} of={choices} onChange={setBefore} />
          <Choice name={template.after} value={after} of={choices} onChange={setAfter} />
        </div>
        <Difference id={id} before={before} after={after} />
      </section>
      <Channels id={id} tags={tags} versions={choices} onChanged={onChanged} />
      {launches.length === 0 ? null : (
        <section class="card">
          <h2>{template.launches}</h2>
          <Table
            label={template.launches}
            rows={launches}
            keyOf={({ seq }) => String(seq)}
            columns={[
              { name: words.version, isNumber: true, cell: ({ version }) => version },
              { name: words.when, cell: ({ launched_at: at }) => <Time at={at} /> },
              { name: words.who, cell: ({ launched_by: who }) => who ?? '–' },
            ]}
          />
        </section>
      )}
      {action === undefined ? null : (
        <ChangeDialog id={id} action={action} version={after} onClose={close} />
      )}
    </>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly value: number;
  readonly of: readonly number[];
  readonly onChange: (version: number) => void;
}

function Choice({ name, value, of, onChange }: ChoiceProps) {
  return (
    <label class="check">
      {name}
      <select value={value} onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}>
        {of.map((version) => (
          <option key={version} value={version}>
            {version}
          </option>
        ))}
      </select>
    </label>
  );
}

interface DifferenceProps {
  readonly id: string;
  readonly before: number;
  readonly after: number;
}

function Difference({ id, before, after }: DifferenceProps) {
  const asked = useAsked(
    async (client, signal) => {
      const [old, now] = await Promise.all(
        [before, after].map((version) => read(client, id, String(version), signal)),
      );
      return { before: old?.body ?? '', after: now?.body ?? '' };
    },
    { about: [id, before, after] },
  );
  return (
    <AskedView of={asked}>
      {(texts) => (
        <>
          {texts.before === texts.after ? <p class="muted">{T.template.same}</p> : null}
          <DifferenceBox key={`${before} ${after}`} {...texts} />
        </>
      )}
    </AskedView>
  );
}

function DifferenceBox({ before, after }: { readonly before: string; readonly after: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let remove: (() => void) | undefined;
    let isGone = false;
    void import('../author/compare.ts').then(({ showDifference }) => {
      if (isGone || box.current === null) return;
      remove = showDifference({ parent: box.current, before, after, label: T.template.changes });
    });
    return () => {
      isGone = true;
      remove?.();
    };
  }, [before, after]);
  return <div ref={box} class="difference" />;
}

interface ChangeProps {
  readonly id: string;
  readonly action: 'launch' | 'rollback';
  readonly version: number;
  readonly onClose: (hasChanged: boolean) => void;
}

/** Says what will be run from then on. */
function ChangeDialog({ id, action, version, onClose }: ChangeProps) {
  const { template } = T;
  const act = async (): Promise<void> => {
    const path = { id };
    const result = await ask(async (client) =>
      answerOf(
        action === 'launch'
          ? await client.routes.POST('/v1/templates/{id}/launch', {
              params: { path },
              body: { version },
            })
          : await client.routes.POST('/v1/templates/{id}/rollback', { params: { path } }),
      ),
    );
    notify(template.launched(id, result.version));
    onClose(true);
  };
  return (
    <ActionDialog
      title={action === 'launch' ? template.launchTitle(version) : template.rollbackTitle}
      go={action === 'launch' ? template.launchGo : template.rollbackGo}
      act={act}
      onClose={() => onClose(false)}
    >
      <p>{template.body}</p>
    </ActionDialog>
  );
}
