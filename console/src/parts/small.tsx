/** Small pieces that every view uses. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { fromNow, fullTime, shortTime } from '../lib/format.ts';
import { createStore } from '../lib/create-store.ts';
import { useStore } from '../lib/store.ts';
import { T } from '../texts.ts';

interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** Nothing is there; it says what to do next. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <div class="muted">{children}</div>}
    </div>
  );
}

export function Loading() {
  return (
    <p class="loading muted" role="status">
      {T.common.loading}
    </p>
  );
}

/** The day and the zone stand in its title. */
export function Time({
  at,
  isRelative = false,
}: {
  readonly at: string | null | undefined;
  readonly isRelative?: boolean;
}) {
  if (at === null || at === undefined) return <span class="muted">–</span>;
  return (
    <time dateTime={at} title={fullTime(at)}>
      {isRelative ? fromNow(at) : shortTime(at)}
    </time>
  );
}

export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

export function Fact({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Any JSON value, as people read it. */
export function Value({ of }: { readonly of: unknown }) {
  if (of === null || of === undefined) return <span class="muted">–</span>;
  if (typeof of === 'string') return <>{of}</>;
  if (typeof of === 'number') return <span class="number">{String(of)}</span>;
  if (typeof of === 'boolean') return <>{of ? T.common.yes : T.common.no}</>;
  if (Array.isArray(of) && of.every((item) => typeof item === 'string'))
    return <>{of.length === 0 ? T.common.none : of.join(', ')}</>;
  return <code>{JSON.stringify(of)}</code>;
}

export interface Tab {
  readonly id: string;
  readonly name: string;
  readonly link: string;
}

/** Each tab has an address of its own. */
export function Tabs({
  tabs,
  open,
  label,
}: {
  readonly tabs: readonly Tab[];
  readonly open: string;
  readonly label: string;
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, name, link }) => (
        <a key={id} href={link} aria-current={id === open ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

const note = createStore<{ readonly text: string } | undefined>(undefined);
const NOTE_MS = 6000;

/** Tells something for a few seconds. */
export function notify(text: string): void {
  note.set({ text });
}

export function Notes() {
  const shown = useStore(note);
  useEffect(() => {
    if (shown === undefined) return undefined;
    const timer = setTimeout(() => note.set(undefined), NOTE_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return (
    <div class="notes" role="status">
      {shown === undefined ? null : <p>{shown.text}</p>}
    </div>
  );
}

export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => narrow.matches);
  useEffect(() => {
    const look = (): void => setNarrow(narrow.matches);
    narrow.addEventListener('change', look);
    return () => narrow.removeEventListener('change', look);
  }, []);
  return isNarrow;
}

const narrow = matchMedia('(max-width: 700px)');

/** Time goes on for what has not ended. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
