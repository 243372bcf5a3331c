import type { RunPlanAnswer } from '../../../src/client/index.ts';
import { Icon } from '../parts/icons.tsx';
import { Fact, Facts, Value } from '../parts/small.tsx';
import { T } from '../texts.ts';
import { PlanGraph, type Invocations, type Nodes } from './plan-graph.tsx';

type Plan = Pick<
  RunPlanAnswer,
  'rows' | 'graph' | 'params' | 'warnings' | 'on_error' | 'max_concurrent'
>;
type Row = Plan['rows'][number];

interface Part {
  readonly type?: string;
  readonly uri?: string | null;
}

interface PlanViewProps {
  readonly plan: Plan;
  /** What became of the rows. */
  readonly invocations?: Invocations;
  readonly nodes?: Nodes | undefined;
}

const NONE: Invocations = [];
const NO_NODES: Nodes = [];

/** What runs, and why it runs that way. */
export function PlanView({ plan, invocations = NONE, nodes = NO_NODES }: PlanViewProps) {
  const { plan: words } = T.run;
  return (
    <div class="plan">
      {plan.warnings.length === 0 ? null : (
        <ul class="warnings" aria-label={words.warnings}>
          {plan.warnings.map(({ path, message }, index) => (
            <li key={index}>
              <Icon name="warning" /> <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {plan.graph === undefined && plan.rows.length < 2 ? null : (
        <PlanGraph rows={plan.rows} topology={plan.graph} invocations={invocations} nodes={nodes} />
      )}
      {plan.rows.map((row) => (
        <RowPlan key={row.row} row={row} />
      ))}
      <Facts>
        <Fact name={words.onError}>{plan.on_error}</Fact>
        <Fact name={words.atOnce}>{plan.max_concurrent}</Fact>
        {Object.entries(plan.params).map(([name, value]) => (
          <Fact key={name} name={`${words.params}: ${name}`}>
            <Value of={value} />
          </Fact>
        ))}
      </Facts>
    </div>
  );
}

function RowPlan({ row }: { readonly row: Row }) {
  const [source, sink] = [row['source'] as Part | undefined, row['sink'] as Part | undefined];
  const transforms = Array.isArray(row['transforms']) ? (row['transforms'] as string[]) : [];
  const facts = Object.entries(T.run.plan.facts).filter(([key]) => says(row[key]));
  return (
    <article class="row-plan">
      <h3>{row.row}</h3>
      <ol class="lane">
        <Step part={source} />
        {transforms.map((type, index) => (
          <li key={index} class="step transform">
            {type}
          </li>
        ))}
        <Step part={sink} />
      </ol>
      <Facts>
        {facts.map(([key, name]) => (
          <Fact key={key} name={name}>
            <Value of={row[key]} />
          </Fact>
        ))}
      </Facts>
    </article>
  );
}

function says(value: unknown): boolean {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
}

function Step({ part }: { readonly part: Part | undefined }) {
  if (part?.type === undefined) return null;
  return (
    <li class="step">
      <strong>{part.type}</strong>
      {typeof part.uri === 'string' ? <span class="uri">{part.uri}</span> : null}
    </li>
  );
}
