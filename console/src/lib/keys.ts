import { useEffect, useRef } from 'preact/hooks';

export type KeyHandlers = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Between the two keys of `g r`. */
const PAIR_MS = 1000;
/** When `g` was pressed, and nothing since. */
let pressed = Number.NEGATIVE_INFINITY;
/** Whether the key that is being handled comes right after it. */
let isSecond = false;

/** Keys of a view, by `KeyboardEvent.key` or `g r`; none while somebody types. */
export function useKeys(handlers: KeyHandlers): void {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (isPressing(event)) return;
      const key = isSecond ? `g ${event.key}` : event.key;
      const handler = latest.current[key];
      if (handler === undefined || event.defaultPrevented) return;
      event.preventDefault();
      handler(event);
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

/** Comes before the handlers of views. */
addEventListener(
  'keydown',
  (event) => {
    isSecond = event.timeStamp - pressed < PAIR_MS;
    pressed = event.key === 'g' && !isTyping(event) ? event.timeStamp : Number.NEGATIVE_INFINITY;
  },
  { capture: true },
);

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  return (
    document.querySelector('dialog[open]') !== null ||
    (target instanceof HTMLElement &&
      (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)))
  );
}

/** Keys that a button or a link has use for itself. */
function isPressing(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  return (
    (event.key === 'Enter' || event.key === ' ') &&
    target instanceof HTMLElement &&
    ['BUTTON', 'A', 'SUMMARY'].includes(target.tagName)
  );
}
