import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { goTo } from '../lib/address.ts';
import { useStore } from '../lib/store.ts';
import { theme } from '../lib/theme.ts';
import { Icon } from '../parts/icons.tsx';
import { T } from '../texts.ts';
import { drawGraph, isNear, type View } from './draw-graph.ts';
import {
  neighbour,
  NODE_HEIGHT,
  NODE_WIDTH,
  type Direction,
  type PlacedGraph,
  type PlacedNode,
} from './graph.ts';

/** Below this, names cannot be read: nodes are only drawn. */
const READABLE = 0.55;
const STEP = 1.25;
/** A small graph needs no large box. */
const [SHORTEST, SCROLLBAR] = [160, 18];
const [SMALLEST, LARGEST] = [0.02, 2];
const KEYS: Readonly<Record<string, Direction>> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
};

interface GraphCanvasProps {
  readonly graph: PlacedGraph;
  readonly label: string;
  /** Id of the text that says how it is used. */
  readonly hint: string;
}

/** Scrolls as every page does; only nodes that are seen, and can be read, are elements. */
export function GraphCanvas({ graph, label, hint }: GraphCanvasProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [{ left, top, width, height }, setBounds] = useState({
    left: 0,
    top: 0,
    width: 0,
    height: 0,
  });
  const [chosenZoom, setZoom] = useState<number>();
  const [currentId, setCurrent] = useState<string>();
  const wantsFocus = useRef(false);
  const colours = useStore(theme);
  const fit = width === 0 ? 1 : Math.min(1, width / graph.width, height / graph.height);
  const zoom = chosenZoom ?? Math.max(fit, READABLE);
  const view: View = { left, top, width, height, zoom };
  const current = useMemo(
    () => graph.nodes.find(({ id }) => id === currentId) ?? leftmost(graph),
    [graph, currentId],
  );
  const isReadable = zoom >= READABLE;
  const shown = graph.nodes.filter(
    (node) => (isReadable && isNear(node, view)) || node === current,
  );

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = (): void =>
      setBounds({
        left: element.scrollLeft,
        top: element.scrollTop,
        width: element.clientWidth,
        height: element.clientHeight,
      });
    const measure = new ResizeObserver(look);
    measure.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      measure.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);

  useLayoutEffect(() => {
    if (canvas.current === null || width === 0) return;
    const id = current?.id;
    drawGraph(canvas.current, graph, { view, current: id, hasSmallNodes: !isReadable });
  }, [graph, left, top, width, height, zoom, current, colours]);

  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }, [current, zoom]);

  const reveal = (node: PlacedNode): void => {
    const at = Math.max(zoom, READABLE);
    setZoom(at);
    setCurrent(node.id);
    wantsFocus.current = true;
    // After the drawing has its new size.
    requestAnimationFrame(() => {
      box.current?.scrollTo(node.x * at - width / 2, node.y * at - height / 2);
    });
  };
  const move = (event: KeyboardEvent): void => {
    const direction = KEYS[event.key];
    if (direction === undefined || current === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = neighbour(graph, current, direction);
    if (next !== undefined) reveal(next);
  };
  const changeZoom = (by: number): void => {
    const next = Math.min(LARGEST, Math.max(Math.min(fit, SMALLEST * 10), zoom * by));
    const [x, y] = [(left + width / 2) / zoom, (top + height / 2) / zoom];
    setZoom(next);
    requestAnimationFrame(() => box.current?.scrollTo(x * next - width / 2, y * next - height / 2));
  };
  const { graph: words } = T;
  return (
    <>
      <div class="graph-tools">
        <Finder nodes={graph.nodes} onFound={reveal} />
        <div class="graph-zoom" role="group" aria-label={words.zoom}>
          <button type="button" aria-label={words.smaller} onClick={() => changeZoom(1 / STEP)}>
            −
          </button>
          <button type="button" onClick={() => setZoom(fit)}>
            {words.whole}
          </button>
          <button type="button" aria-label={words.larger} onClick={() => changeZoom(STEP)}>
            +
          </button>
        </div>
      </div>
      <div
        ref={box}
        class="graph-box"
        role="group"
        aria-label={label}
        aria-describedby={hint}
        onKeyDown={move}
        style={{ maxHeight: `${Math.max(SHORTEST, graph.height + SCROLLBAR)}px` }}
      >
        <div
          class="graph-room"
          style={{
            width: `${Math.max(width, graph.width * zoom)}px`,
            height: `${Math.max(height, graph.height * zoom)}px`,
          }}
        >
          <canvas
            ref={canvas}
            aria-hidden="true"
            style={{ width: `${width}px`, height: `${height}px` }}
          />
          {shown.map((node) => (
            <NodeBox
              key={node.id}
              node={node}
              zoom={zoom}
              isCurrent={node === current}
              onCurrent={() => setCurrent(node.id)}
            />
          ))}
        </div>
      </div>
    </>
  );
}

function leftmost({ nodes }: PlacedGraph): PlacedNode | undefined {
  return nodes.reduce<PlacedNode | undefined>(
    (first, node) =>
      first === undefined || node.x < first.x || (node.x === first.x && node.y < first.y)
        ? node
        : first,
    undefined,
  );
}

interface NodeBoxProps {
  readonly node: PlacedNode;
  readonly zoom: number;
  readonly isCurrent: boolean;
  readonly onCurrent: () => void;
}

function NodeBox({ node, zoom, isCurrent, onCurrent }: NodeBoxProps) {
  const { label, detail, kind, status, link, x, y } = node;
  const place = {
    width: `${NODE_WIDTH}px`,
    height: `${NODE_HEIGHT}px`,
    transform: `translate(${(x - NODE_WIDTH / 2) * zoom}px, ${(y - NODE_HEIGHT / 2) * zoom}px) scale(${zoom})`,
  };
  const names = [label, detail, status === undefined ? undefined : T.status[status]];
  return (
    <button
      type="button"
      class={`graph-node node-${kind}${status === undefined ? '' : ` node-${status}`}`}
      tabIndex={isCurrent ? 0 : -1}
      title={names.filter((name) => name !== undefined).join('\n')}
      style={place}
      onFocus={onCurrent}
      onClick={() => {
        onCurrent();
        if (link !== undefined) goTo(link);
      }}
    >
      <span class="node-label">{label}</span>
      {detail === undefined ? null : (
        <span class="node-detail">
          <bdi>{detail}</bdi>
        </span>
      )}
      {status === undefined ? null : <span class="hidden">{T.status[status] ?? status}</span>}
    </button>
  );
}

interface FinderProps {
  readonly nodes: readonly PlacedNode[];
  readonly onFound: (node: PlacedNode) => void;
}

/** Enter goes to the next node whose name has the text. */
function Finder({ nodes, onFound }: FinderProps) {
  const [text, setText] = useState('');
  const [turn, setTurn] = useState(0);
  const wanted = text.trim().toLowerCase();
  const found =
    wanted === ''
      ? []
      : nodes.filter(({ label, detail = '' }) =>
          `${detail}${label}`.toLowerCase().includes(wanted),
        );
  return (
    <form
      class="graph-find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const next = found[turn % Math.max(1, found.length)];
        setTurn(turn + 1);
        if (next !== undefined) onFound(next);
      }}
    >
      <input
        type="search"
        aria-label={T.graph.find}
        placeholder={T.graph.find}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setTurn(0);
        }}
      />
      <button type="submit" disabled={found.length === 0} aria-label={T.graph.go}>
        <Icon name="arrow" />
      </button>
      <span class="muted" role="status">
        {wanted === '' ? '' : T.graph.found(found.length)}
      </span>
    </form>
  );
}
