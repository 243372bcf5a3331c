import { useState } from 'preact/hooks';
import { answerOf } from '../lib/answer.ts';
import { ask, may } from '../lib/session.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { notify } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

/** Those that the API lets people assign; the others follow from launches. */
const NAMES = ['dev', 'test', 'staging', 'pre-prod', 'canary', 'prod'] as const;

interface ChannelsProps {
  readonly id: string;
  /** Versions by channel. */
  readonly tags: Readonly<Record<string, number>>;
  readonly versions: readonly number[];
  readonly onChanged: () => void;
}

interface Choice {
  readonly channel: string;
  readonly version: number;
}

export function Channels({ id, tags, versions, onChanged }: ChannelsProps) {
  const [chosen, setChosen] = useState<Readonly<Record<string, number>>>({});
  const [asking, setAsking] = useState<Choice>();
  const { assign: words } = T.operate;
  const rows = [...new Set([...NAMES, ...Object.keys(tags)])].map((channel) => ({
    channel,
    now: tags[channel],
    next: chosen[channel] ?? tags[channel] ?? versions[0] ?? 1,
  }));
  const act = async ({ channel, version }: Choice): Promise<void> => {
    await ask(async (client) =>
      answerOf(
        await client.routes.POST('/v1/templates/{id}/tags', {
          params: { path: { id } },
          body: { tag: channel, version },
        }),
      ),
    );
    notify(words.done(channel, version));
    setAsking(undefined);
    onChanged();
  };
  return (
    <section class="card">
      <h2>{words.title}</h2>
      <p class="muted">{words.hint}</p>
      <Table
        label={words.title}
        rows={rows}
        keyOf={({ channel }) => channel}
        columns={[
          { name: words.channel, cell: ({ channel }) => <code>{channel}</code> },
          {
            name: words.version,
            cell: ({ now }) => now ?? <span class="muted">{words.nowhere}</span>,
          },
          {
            name: T.operate.action,
            isUnnamed: true,
            cell: ({ channel, now, next }) =>
              may('template_admin') ? (
                <span class="buttons">
                  <select
                    aria-label={words.choose(channel)}
                    value={next}
                    onChange={({ currentTarget }) =>
                      setChosen({ ...chosen, [channel]: Number(currentTarget.value) })
                    }
                  >
                    {versions.map((version) => (
                      <option key={version} value={version}>
                        {version}
                      </option>
                    ))}
                  </select>
                  <button
                    type="button"
                    disabled={now === next}
                    onClick={() => setAsking({ channel, version: next })}
                  >
                    {words.go(channel)}
                  </button>
                </span>
              ) : null,
          },
        ]}
      />
      {asking === undefined ? null : (
        <ActionDialog
          title={words.ask(asking.channel, asking.version)}
          go={words.go(asking.channel)}
          act={() => act(asking)}
          onClose={() => setAsking(undefined)}
        >
          <p>{words.body(asking.channel)}</p>
        </ActionDialog>
      )}
    </section>
  );
}
