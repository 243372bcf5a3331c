/** What lies below the nodes: the edges, and nodes that are too small to be read. */
import { NODE_HEIGHT, NODE_WIDTH, type PlacedEdge, type PlacedGraph } from './graph.ts';

export interface View {
  /** Of the drawing, in pixels of the screen. */
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly zoom: number;
}

interface DrawOptions {
  readonly view: View;
  /** Its edges are drawn stronger. */
  readonly current: string | undefined;
  readonly hasSmallNodes: boolean;
}

export function drawGraph(
  canvas: HTMLCanvasElement,
  { nodes, edges }: PlacedGraph,
  { view, current, hasSmallNodes }: DrawOptions,
): void {
  const ratio = devicePixelRatio;
  const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const pen = canvas.getContext('2d');
  if (pen === null) return;
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, width, height);
  const scale = view.zoom * ratio;
  pen.setTransform(scale, 0, 0, scale, -view.left * ratio, -view.top * ratio);
  const seen = edges.filter(({ points }) => points.some((point) => isNear(point, view)));
  const isOwn = ({ from, to }: PlacedEdge): boolean => from === current || to === current;
  pen.lineWidth = Math.max(1.25, 0.6 / view.zoom);
  pen.strokeStyle = colour('--strong-line');
  pen.globalAlpha = 0.6;
  strokeEdges(
    pen,
    seen.filter((edge) => !isOwn(edge)),
  );
  pen.globalAlpha = 1;
  pen.strokeStyle = colour('--accent');
  pen.lineWidth = Math.max(2, 1 / view.zoom);
  strokeEdges(pen, seen.filter(isOwn));
  if (!hasSmallNodes) return;
  const [bad, plain] = [colour('--bad'), colour('--accent')];
  for (const node of nodes) {
    if (!isNear(node, view)) continue;
    pen.fillStyle = node.status === 'failed' ? bad : plain;
    pen.globalAlpha = node.kind === 'dataset' ? 0.9 : 0.5;
    pen.fillRect(node.x - NODE_WIDTH / 2, node.y - NODE_HEIGHT / 2, NODE_WIDTH, NODE_HEIGHT);
  }
  pen.globalAlpha = 1;
}

/** Beyond the screen by as much as an edge may bend. */
export function isNear({ x, y }: { readonly x: number; readonly y: number }, view: View): boolean {
  const margin = 2 * NODE_WIDTH;
  const [left, top] = [view.left / view.zoom, view.top / view.zoom];
  return (
    x > left - margin &&
    x < left + view.width / view.zoom + margin &&
    y > top - margin &&
    y < top + view.height / view.zoom + margin
  );
}

function strokeEdges(pen: CanvasRenderingContext2D, edges: readonly PlacedEdge[]): void {
  pen.beginPath();
  for (const { points } of edges) {
    const [first, ...rest] = points;
    if (first === undefined) continue;
    pen.moveTo(first.x, first.y);
    let from = first;
    for (const to of rest) {
      const middle = (from.x + to.x) / 2;
      pen.bezierCurveTo(middle, from.y, middle, to.y, to.x, to.y);
      from = to;
    }
    const before = points.at(-2) ?? from;
    const back = from.x >= before.x ? -6 : 6;
    pen.moveTo(from.x + back, from.y - 4);
    pen.lineTo(from.x, from.y);
    pen.lineTo(from.x + back, from.y + 4);
  }
  pen.stroke();
}
