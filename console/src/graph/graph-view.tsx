import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { count } from '../lib/format.ts';
import { Failure } from '../parts/failure.tsx';
import { T } from '../texts.ts';
import { GraphCanvas } from './graph-canvas.tsx';
import type { Graph, PlacedGraph } from './graph.ts';
import { placeGraph } from './layout.ts';

export interface GraphViewProps {
  readonly graph: Graph;
  readonly label: string;
  /** The same as a table, for whoever does not see drawings. */
  readonly table: ComponentChildren;
}

export function GraphView({ graph, label, table }: GraphViewProps) {
  const [isTable, setTable] = useState(false);
  const { placed, error } = usePlaced(graph);
  const { graph: words } = T;
  return (
    <div class="graph">
      <div class="graph-choice" role="group" aria-label={words.showAs}>
        {[false, true].map((choice) => (
          <button
            key={String(choice)}
            type="button"
            aria-pressed={isTable === choice}
            onClick={() => setTable(choice)}
          >
            {choice ? words.table : words.drawing}
          </button>
        ))}
        <span class="muted" role="status">
          {words.size(count(graph.nodes.length), count(graph.edges.length))}
          {placed === undefined && error === undefined ? ` · ${words.placing}` : ''}
        </span>
      </div>
      {error === undefined ? null : <Failure error={error} />}
      {isTable ? (
        table
      ) : placed === undefined ? (
        <div class="graph-box" />
      ) : (
        <Drawing placed={placed} label={label} />
      )}
    </div>
  );
}

function Drawing({ placed, label }: { readonly placed: PlacedGraph; readonly label: string }) {
  const hint = useId();
  return (
    <>
      <GraphCanvas graph={placed} label={label} hint={hint} />
      <p id={hint} class="muted graph-hint">
        {T.graph.hint}
      </p>
    </>
  );
}

/** What is drawn stays until the next one has its places. */
function usePlaced(graph: Graph): { placed: PlacedGraph | undefined; error: unknown } {
  const [state, setState] = useState<{ placed?: PlacedGraph; error?: unknown }>({});
  const subject = JSON.stringify([graph.nodes, graph.edges]);
  useEffect(() => {
    const stop = new AbortController();
    placeGraph(graph, stop.signal).then(
      (placed) => setState({ placed }),
      (error: unknown) => {
        if (!stop.signal.aborted) setState(({ placed }) => ({ ...(placed && { placed }), error }));
      },
    );
    return () => stop.abort();
  }, [subject]);
  return { placed: state.placed, error: state.error };
}
