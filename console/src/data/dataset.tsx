import type { CatalogGetAnswer } from '../../../src/client/index.ts';
import { linkTo } from '../lib/address.ts';
import { count } from '../lib/format.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Icon } from '../parts/icons.tsx';
import { LineChart } from '../parts/line-chart.tsx';
import { Fact, Facts, Time } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';
import { Columns } from './columns.tsx';

export function Dataset({ id }: { readonly id: string }) {
  const asked = useAsked(
    async (client, signal) =>
      answerOf(await client.routes.GET('/v1/catalog/datasets/{id}', { params: { path: { id } }, signal })),
    { about: [id] },
  );
  return (
    <>
      <a class="back" href={linkTo(['data', 'datasets'])}>
        <Icon name="back" /> {T.data.tabs.datasets}
      </a>
      <AskedView of={asked}>{(dataset) => <Detail of={dataset} />}</AskedView>
    </>
  );
}

function Detail({ of }: { readonly of: CatalogGetAnswer }) {
  const { data: words } = T;
  return (
    <>
      <h2 class="uri-title">{of.uri}</h2>
      <Facts>
        <Fact name={words.kind}>{of.kind}</Fact>
        <Fact name={words.roles}>{of.roles.join(', ')}</Fact>
        <Fact name={words.lastSeen}>
          <Time at={of.last_seen} />
        </Fact>
        <Fact name={words.total}>{count(of.total_records)}</Fact>
      </Facts>
      <section class="card">
        <h2>{words.volume}</h2>
        <VolumeChart of={of} />
      </section>
      <section class="card">
        <h2>{words.schema}</h2>
        <Table label={words.schema} rows={columnsOf(of)} keyOf={([name]) => name} columns={[
          { name: words.column, cell: ([name]) => <code>{name}</code> },
          { name: words.type, cell: ([, type]) => type },
        ]} />
        <h2>{words.timeline}</h2>
        <ul class="changes">
          {of.schema_timeline.toReversed().map(({ version, recorded_at: at, diff }) => (
            <li key={version}>
              <strong>{version}</strong> <Time at={at} /> {diff === undefined ? words.firstVersion : changesOf(diff)}
            </li>
          ))}
        </ul>
      </section>
      <Columns of={of} />
      <Neighbours title={words.upstream} links={of.upstream.map(({ src_id: id, src_uri: uri }) => ({ id, uri }))} />
      <Neighbours title={words.downstream} links={of.downstream.map(({ dst_id: id, dst_uri: uri }) => ({ id, uri }))} />
    </>
  );
}

function columnsOf({ current_schema: schema }: CatalogGetAnswer): (readonly [string, string])[] {
  const { properties = {} } = (schema ?? {}) as { readonly properties?: Record<string, { readonly type?: unknown }> };
  return Object.entries(properties).map(([name, { type }]) => [name, [type].flat().map(String).join(' | ')]);
}

type Diff = NonNullable<CatalogGetAnswer['schema_timeline'][number]['diff']>;

function changesOf({ added, widened, changed, removed }: Diff): string {
  return [
    ...added.map(({ column, to }) => `+ ${column} ${to}`),
    ...[...widened, ...changed].map(({ column, from, to }) => `${column}: ${from ?? '–'} → ${to}`),
    ...removed.map((column) => `− ${column}`),
  ].join(', ');
}

interface NeighboursProps {
  readonly title: string;
  readonly links: readonly { readonly id: string; readonly uri: string }[];
}

function Neighbours({ title, links }: NeighboursProps) {
  if (links.length === 0) return null;
  return (
    <section class="card">
      <h2>{title}</h2>
      <ul>
        {[...new Map(links.map((link) => [link.id, link])).values()].map(({ id, uri }) => (
          <li key={id}>
            <a href={linkTo(['data', 'datasets', id])}>{uri}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function VolumeChart({ of }: { readonly of: CatalogGetAnswer }) {
  const stats = of.stats.toReversed();
  return (
    <LineChart
      label={`${T.data.volume}: ${of.stats.map(({ records }) => count(records)).join(', ')}`}
      times={stats.map(({ recorded_at: at }) => Date.parse(at))}
      lines={[
        { name: T.run.written, colour: '--accent', values: stats.map(({ records }) => records) },
      ]}
    />
  );
}
