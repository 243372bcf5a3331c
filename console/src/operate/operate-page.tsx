import { address, linkTo } from '../lib/address.ts';
import { useStore } from '../lib/store.ts';
import { Tabs } from '../parts/small.tsx';
import { T } from '../texts.ts';
import { Audit } from './audit.tsx';
import { Cluster } from './cluster.tsx';
import { Metrics } from './metrics.tsx';
import { Schedules } from './schedules.tsx';
import { Template } from './template.tsx';
import { Templates } from './templates.tsx';
import { Triggers } from './triggers.tsx';

const VIEWS = {
  schedules: Schedules,
  triggers: Triggers,
  templates: Templates,
  metrics: Metrics,
  cluster: Cluster,
  audit: Audit,
} as const;
type ViewName = keyof typeof VIEWS;

export function OperatePage() {
  const { path } = useStore(address);
  const names = Object.keys(VIEWS) as ViewName[];
  const open = names.find((name) => name === path[1]) ?? 'schedules';
  const View = VIEWS[open];
  return (
    <section class="page">
      <div class="title">
        <h1>{T.operate.title}</h1>
      </div>
      <Tabs
        label={T.operate.title}
        open={open}
        tabs={names.map((id) => ({ id, name: T.operate.tabs[id], link: linkTo(['operate', id]) }))}
      />
      {open === 'templates' && path[2] !== undefined ? (
        <Template key={path[2]} id={path[2]} />
      ) : (
        <View key={open} />
      )}
    </section>
  );
}
