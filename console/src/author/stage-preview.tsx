import { useState } from 'preact/hooks';
import type { PlanAnswer, PreviewAnswer } from '../../../src/client/index.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { Failure } from '../parts/failure.tsx';
import { Loading } from '../parts/small.tsx';
import type { Topology } from '../run/plan-graph.tsx';
import { T } from '../texts.ts';
import { cellAt, fieldsOf, pairRecords, sameValue, type Pair } from './pair-records.ts';

const RECORDS = 6;
type GraphPreview = Extract<PreviewAnswer, { readonly nodes: unknown }>;
type RowPreview = Exclude<PreviewAnswer, GraphPreview>;

interface StagePreviewProps {
  readonly text: string;
  readonly plan: PlanAnswer;
}

/** The first records after each stage, for as long as the text has no problem. */
export function StagePreview({ text, plan }: StagePreviewProps) {
  const graph = plan.graph as Topology | undefined;
  const nodes = graph?.nodes.map(({ id }) => id);
  const rows = nodes ?? plan.rows.filter((row) => row['parent'] === null).map(({ row }) => row);
  const [chosen, setChosen] = useState<string>();
  const row =
    chosen !== undefined && rows.includes(chosen)
      ? chosen
      : nodes === undefined
        ? rows[0]
        : undefined;
  const { preview: words } = T.author;
  return (
    <div class="stage-preview">
      {rows.length < 2 ? null : (
        <label class="field">
          <span>{nodes === undefined ? words.row : words.node}</span>
          <select
            value={row ?? ''}
            onChange={({ currentTarget }) => setChosen(currentTarget.value)}
          >
            {nodes === undefined ? null : <option value="">{words.allNodes}</option>}
            {rows.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Shown text={text} row={row} />
    </div>
  );
}

/** What was shown stays until there is something newer. */
function Shown({ text, row }: { readonly text: string; readonly row: string | undefined }) {
  const [last, setLast] = useState<PreviewAnswer>();
  const { data, error, isLoading } = useAsked(
    async (client, signal) => {
      const body = { config: text, limit: RECORDS, ...(row === undefined ? {} : { row }) };
      const answer = answerOf(await client.routes.POST('/v1/preview', { body, signal }));
      setLast(answer);
      return answer;
    },
    { about: [text, row] },
  );
  const shown = data ?? last;
  if (error !== undefined) return <Failure error={error} />;
  if (shown === undefined) return <Loading />;
  const isOld = isLoading && data === undefined;
  return (
    <div class={isOld ? 'stages outdated' : 'stages'}>
      {isGraph(shown) ? <GraphStages of={shown.nodes} /> : <Stages of={shown} />}
    </div>
  );
}

function isGraph(of: PreviewAnswer): of is GraphPreview {
  return 'nodes' in of;
}

function Stages({ of }: { readonly of: RowPreview }) {
  const { preview: words } = T.author;
  return (
    <>
      <p class="muted">{words.from(of.source, of.input.length)}</p>
      <Records name={words.source(of.source)} pairs={unchanged(of.input)} />
      {of.stages.map((stage, index) => (
        <Stage key={index} stage={stage} />
      ))}
      {of.error === null ? (
        <p class="fine">{words.to(of.sink, of.output.length)}</p>
      ) : (
        <p class="problem" role="alert">
          {words.ends} {of.error}
        </p>
      )}
    </>
  );
}

/** Each node of a graph after those that feed it. */
function GraphStages({ of }: { readonly of: GraphPreview['nodes'] }) {
  const { preview: words } = T.author;
  return (
    <>
      <p class="muted">{words.fromGraph}</p>
      {of.map((node) => (
        <NodeStages key={node.node} of={node} />
      ))}
    </>
  );
}

function NodeStages({ of }: { readonly of: GraphPreview['nodes'][number] }) {
  const { node, kind, connector, inputs, stages, output, error } = of;
  const { preview: words } = T.author;
  const given = inputs.map(({ from, label, records }) =>
    words.given(records.length, label === null ? from : `${from} (${label})`),
  );
  return (
    <section class="stage node" aria-label={node}>
      <h3>
        {node}{' '}
        <span class="muted">
          {connector === null ? kind : `${kind} ${connector}`}{' '}
          {kind === 'sink' ? '' : words.handsOn(output.length)}
        </span>
      </h3>
      {given.length === 0 ? null : <p class="muted">{given.join(', ')}</p>}
      {stages.map((stage, index) => (
        <Stage key={index} stage={stage} level={4} />
      ))}
      {error === null ? (
        <>
          {/* A tee changes nothing, and stages have shown what they make. */}
          {kind === 'tee' || stages.length > 0 || output.length === 0 ? null : (
            <Records name={node} pairs={unchanged(output)} />
          )}
          {kind === 'sink' && connector !== null ? (
            <p class="fine">{words.to(connector, output.length)}</p>
          ) : null}
        </>
      ) : (
        <p class="problem" role="alert">
          {words.ends} {error}
        </p>
      )}
    </section>
  );
}

function unchanged(records: readonly unknown[]): readonly Pair[] {
  return records.map((record) => ({ before: record, after: record, isGone: false }));
}

interface StageProps {
  readonly stage: RowPreview['stages'][number];
  readonly level?: 3 | 4;
}

function Stage({ stage, level = 3 }: StageProps) {
  const Heading = level === 3 ? 'h3' : 'h4';
  const { stage: name, before, after, dead } = stage;
  const pairs = pairRecords(before, after);
  const isSame = pairs.every((pair) => sameValue(pair.before, pair.after));
  const { preview: words } = T.author;
  return (
    <section class="stage" aria-label={name}>
      <Heading>
        {name} <span class="muted">{words.counts(before.length, after.length)}</span>
      </Heading>
      {isSame && dead.length === 0 ? (
        <p class="muted">{words.unchanged}</p>
      ) : (
        <Records name={name} pairs={pairs} />
      )}
      {dead.map(({ reason, message }, index) => (
        <p key={index} class="problem">
          {words.dead(reason)} {message}
        </p>
      ))}
    </section>
  );
}

function Records({ name, pairs }: { readonly name: string; readonly pairs: readonly Pair[] }) {
  const before = pairs.flatMap((pair) => (pair.before === undefined ? [] : [pair.before]));
  const after = pairs.flatMap((pair) => (pair.after === undefined ? [] : [pair.after]));
  const now = fieldsOf(after);
  const gone = fieldsOf(before).filter((field) => !now.includes(field));
  const was = new Set(fieldsOf(before));
  const { preview: words } = T.author;
  return (
    // It scrolls, and whoever has no mouse scrolls what has the focus.
    <div class="scrolls records" tabIndex={0} role="region" aria-label={words.records(name)}>
      <table>
        <thead>
          <tr>
            {now.map((field) => (
              <th key={field} scope="col" class={was.has(field) ? undefined : 'added'}>
                {field}
              </th>
            ))}
            {gone.map((field) => (
              <th key={field} scope="col" class="removed">
                <del>{field}</del>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair, index) => (
            <Row key={index} pair={pair} fields={[...now, ...gone]} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ pair, fields }: { readonly pair: Pair; readonly fields: readonly string[] }) {
  const { before, after, isGone } = pair;
  return (
    <tr class={isGone ? 'gone' : before === undefined ? 'added' : undefined}>
      {fields.map((field) => {
        const [old, now] = [cellAt(before, field), cellAt(after, field)];
        if (isGone)
          return (
            <td key={field}>
              <del>{textOf(old)}</del>
            </td>
          );
        const isChanged = before !== undefined && !sameValue(old, now);
        return (
          <td key={field} class={isChanged ? 'changed' : undefined}>
            {isChanged && old !== undefined ? <del>{textOf(old)}</del> : null}
            {now === undefined ? null : isChanged ? <ins>{textOf(now)}</ins> : textOf(now)}
          </td>
        );
      })}
    </tr>
  );
}

/** Texts have quotes, so that `"1"` and `1` are two things. */
function textOf(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}
