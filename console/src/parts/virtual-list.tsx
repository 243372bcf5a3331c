import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Browsers cut off what is higher; Firefox at 17.8 million. */
const HIGHEST = 8_000_000;
const BEYOND = 8;
/** Rows are drawn anew after so many, which is fewer than lie ready beyond the edge. */
const STEP = 4;

interface VirtualListProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly class?: string;
  readonly role?: 'rowgroup' | 'list' | 'log';
  readonly label?: string;
  /** Row that has to be seen. */
  readonly reveal?: number | undefined;
  /** Stay at the end while rows are added there. */
  readonly follows?: boolean;
  /** The reader scrolled: whether the end is seen. */
  readonly onScrolled?: (isAtEnd: boolean) => void;
  /** Rows before this one are on the screen. */
  readonly onSeen?: (last: number) => void;
  readonly children: (index: number) => ComponentChildren;
}

/**
 * Draws the rows that are seen, of a list of any length. Rows have one height. A list higher than
 * browsers can be scrolled proportionally.
 */
export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight, reveal, follows = false, onScrolled, onSeen } = props;
  const box = useRef<HTMLDivElement>(null);
  const [{ top, height }, setView] = useState({ top: 0, height: 600 });
  const total = count * rowHeight;
  const canvas = Math.min(total, HIGHEST);
  const scale = canvas === total ? 1 : (total - height) / (canvas - height);
  // Rows of a list that is not scaled stay where they are; what scrolls is the box.
  const step = canvas === total ? rowHeight * STEP : 1;
  const show = ({ scrollTop, clientHeight }: HTMLElement): void =>
    setView((before) => {
      const next = Math.floor(scrollTop / step) * step;
      return before.top === next && before.height === clientHeight
        ? before
        : { top: next, height: clientHeight };
    });
  const virtualTop = top * scale;
  const first = Math.max(0, Math.floor(virtualTop / rowHeight) - BEYOND);
  const last = Math.min(count, Math.ceil((virtualTop + height) / rowHeight) + BEYOND);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = new ResizeObserver(() => show(element));
    measure.observe(element);
    return () => measure.disconnect();
  }, [step]);

  useLayoutEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = canvas;
  }, [follows, count, canvas]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || reveal === undefined || reveal < 0) return;
    const [from, to] = [reveal * rowHeight, (reveal + 1) * rowHeight];
    const seen = element.scrollTop * scale;
    if (from < seen) element.scrollTop = from / scale;
    else if (to > seen + height) element.scrollTop = (to - height) / scale;
  }, [reveal]);

  useEffect(() => onSeen?.(last), [last, count]);

  const rows: ComponentChildren[] = [];
  for (let index = first; index < last; index += 1) {
    const y = index * rowHeight - virtualTop + top;
    rows.push(
      <div
        key={index}
        class="virtual-row"
        role="presentation"
        style={{ height: `${rowHeight}px`, transform: `translateY(${y}px)` }}
      >
        {props.children(index)}
      </div>,
    );
  }
  return (
    <div
      ref={box}
      class={`virtual ${props.class ?? ''}`}
      role={props.role}
      aria-label={props.label}
      // Whoever has no mouse scrolls a box that has the focus.
      tabIndex={props.role === 'rowgroup' ? undefined : 0}
      onScroll={({ currentTarget }) => {
        show(currentTarget);
        if (onScrolled === undefined) return;
        const { scrollTop, clientHeight, scrollHeight } = currentTarget;
        onScrolled(scrollTop + clientHeight >= scrollHeight - rowHeight);
      }}
    >
      <div class="virtual-canvas" role="presentation" style={{ height: `${canvas}px` }}>
        {rows}
      </div>
    </div>
  );
}
