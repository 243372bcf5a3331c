import { address, linkTo } from '../lib/address.ts';
import { useStore } from '../lib/store.ts';
import { Tabs } from '../parts/small.tsx';
import { T } from '../texts.ts';
import { Dataset } from './dataset.tsx';
import { Datasets } from './datasets.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { Lineage } from './lineage.tsx';
import { LocalOutputs } from './local-outputs.tsx';

const VIEWS = {
  datasets: Datasets,
  lineage: Lineage,
  outputs: LocalOutputs,
  deadLetters: DeadLetters,
} as const;
type ViewName = keyof typeof VIEWS;

export function DataPage() {
  const { path } = useStore(address);
  const names = Object.keys(VIEWS) as ViewName[];
  const open = names.find((name) => name === path[1]) ?? 'datasets';
  const id = open === 'datasets' ? path[2] : undefined;
  const View = VIEWS[open];
  return (
    <section class="page">
      <div class="title">
        <h1>{T.data.title}</h1>
      </div>
      <Tabs
        label={T.data.title}
        open={open}
        tabs={names.map((name) => ({ id: name, name: T.data.tabs[name], link: linkTo(['data', name]) }))}
      />
      {id === undefined ? <View key={open} /> : <Dataset key={id} id={id} />}
    </section>
  );
}
