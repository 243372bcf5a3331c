/** Drawn by hand on a grid of sixteen, so that nothing has to be loaded for them. */
const PATHS = {
  queued: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3.2l2 1.3',
  running: 'M8 2.5A5.5 5.5 0 1 1 2.5 8',
  completed: 'M3.5 8.5l3 3 6-7',
  failed: 'M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6',
  cancelled: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM4.2 4.2l7.6 7.6',
  skipped: 'M3 4l5 4-5 4zM8.5 4l5 4-5 4z',
  paused: 'M5.5 3.5v9M10.5 3.5v9',
  warning: 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.3v.2',
  chevron: 'M6 3.5l4.5 4.5L6 12.5',
  back: 'M10 3.5L5.5 8l4.5 4.5',
  arrow: 'M2.5 8h10.5M9.5 4.5L13 8l-3.5 3.5',
  theme: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  keys: 'M1.5 4.5h13v7h-13zM4 7h.2M7 7h.2M10 7h.2M12.5 7h.2M5 9.5h6',
  leave: 'M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3',
  search: 'M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM10 10l3.5 3.5',
  close: 'M4 4l8 8M12 4l-8 8',
  off: 'M4 8h8',
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({
  name,
  spins = false,
}: {
  readonly name: IconName;
  readonly spins?: boolean;
}) {
  return (
    <svg class={spins ? 'icon spins' : 'icon'} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
