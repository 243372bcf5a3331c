/** What the server does now, and did in the last hour. */
import { useRef } from 'preact/hooks';
import { answerOf } from '../lib/answer.ts';
import { compact, count, duration } from '../lib/format.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { LineChart } from '../parts/line-chart.tsx';
import { Fact, Facts } from '../parts/small.tsx';
import { MINUTES, useLastHour, type Hour } from '../runs/use-last-hour.ts';
import { T } from '../texts.ts';

const EVERY_MS = 5000;
/** An hour of them. */
const MOST_SAMPLES = 720;

interface Sample {
  readonly at: number;
  readonly queued: number;
  readonly executing: number;
  readonly memory: number | undefined;
}

export function Metrics() {
  const samples = useRef<readonly Sample[]>([]);
  const now = useAsked(
    async (client, signal) => {
      const text = answerOf(await client.routes.GET('/metrics', { parseAs: 'text', signal }));
      samples.current = [...samples.current, sampleOf(text, Date.now())].slice(-MOST_SAMPLES);
      return samples.current;
    },
    { everyMs: EVERY_MS },
  );
  const hour = useLastHour();
  return (
    <>
      <AskedView of={now}>{(all) => <Now of={all} />}</AskedView>
      <AskedView of={hour}>{(data) => <LastHour of={data} />}</AskedView>
    </>
  );
}

/** Of a text in the format of Prometheus: series without labels. */
export function valueIn(text: string, name: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  const value = line === undefined ? Number.NaN : Number(line.slice(name.length + 1));
  return Number.isFinite(value) ? value : undefined;
}

function sampleOf(text: string, at: number): Sample {
  return {
    at,
    queued: valueIn(text, 'svc_serve_runs_queued') ?? 0,
    executing: valueIn(text, 'svc_serve_runs_in_flight') ?? 0,
    memory: valueIn(text, 'headgate_resident_memory_bytes'),
  };
}

function bytes(value: number): string {
  return `${compact(value / 1024 / 1024)} MiB`;
}

function Now({ of }: { readonly of: readonly Sample[] }) {
  const last = of.at(-1);
  if (last === undefined) return null;
  const times = of.map(({ at }) => at);
  const { metrics: words } = T.operate;
  const told = `${count(last.queued)}, ${count(last.executing)}`;
  return (
    <>
      <Facts>
        <Fact name={words.queued}>{count(last.queued)}</Fact>
        <Fact name={words.executing}>{count(last.executing)}</Fact>
        <Fact name={words.memory}>{last.memory === undefined ? '–' : bytes(last.memory)}</Fact>
      </Facts>
      <div class="charts">
        <section class="card">
          <h2>{words.queue}</h2>
          <LineChart
            label={`${words.queue}: ${told}`}
            times={times}
            lines={[
              { name: words.queued, colour: '--muted', values: of.map(({ queued }) => queued) },
              {
                name: words.executing,
                colour: '--accent',
                values: of.map(({ executing }) => executing),
              },
            ]}
          />
          <Key
            of={[
              ['--muted', words.queued],
              ['--accent', words.executing],
            ]}
          />
        </section>
        <section class="card">
          <h2>{words.memoryOver}</h2>
          <LineChart
            label={`${words.memoryOver}: ${last.memory === undefined ? '–' : bytes(last.memory)}`}
            times={times}
            format={bytes}
            lines={[
              {
                name: words.memory,
                colour: '--accent',
                values: of.map(({ memory }) => memory ?? null),
              },
            ]}
          />
        </section>
      </div>
    </>
  );
}

function LastHour({ of }: { readonly of: Hour }) {
  const times = of.minutes.map((_counts, index) => of.start + index * 60_000);
  const { metrics: words } = T.operate;
  const perMinute = words.average((of.all / MINUTES).toFixed(2));
  return (
    <>
      <Facts>
        <Fact name={words.runs}>
          {count(of.all)} · {perMinute}
        </Fact>
        <Fact name={words.failures}>{count(of.failed)}</Fact>
        <Fact name={words.p95}>{duration(of.p95Secs)}</Fact>
      </Facts>
      {of.isWhole ? null : <p class="notice">{words.notAll}</p>}
      <div class="charts">
        <section class="card">
          <h2>{words.perMinute}</h2>
          <LineChart
            label={`${words.perMinute}: ${count(of.all)}, ${words.failed} ${count(of.failed)}`}
            times={times}
            lines={[
              { name: words.all, colour: '--accent', values: of.minutes.map(({ all }) => all) },
              {
                name: words.failed,
                colour: '--bad',
                values: of.minutes.map(({ failed }) => failed),
              },
            ]}
          />
          <Key
            of={[
              ['--accent', words.all],
              ['--bad', words.failed],
            ]}
          />
        </section>
        <section class="card">
          <h2>{words.took}</h2>
          <LineChart
            label={`${words.took}: ${duration(of.p95Secs)}`}
            times={times}
            format={(value) => duration(value)}
            lines={[
              {
                name: words.p95,
                colour: '--accent',
                values: of.minutes.map(({ p95Secs }) => p95Secs ?? null),
              },
            ]}
          />
        </section>
      </div>
    </>
  );
}

/** Which line is which. */
function Key({ of }: { readonly of: readonly (readonly [string, string])[] }) {
  return (
    <ul class="key">
      {of.map(([colour, name]) => (
        <li key={name} class={`key${colour}`}>
          {name}
        </li>
      ))}
    </ul>
  );
}
