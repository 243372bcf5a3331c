/** Of runs that wait, those of a higher priority begin first. The highest stands first. */
export const RUN_PRIORITIES = ['high', 'normal', 'low'] as const;
export type RunPriority = (typeof RUN_PRIORITIES)[number];

/** Records leave it out where it is the default. */
export function priorityOf({ priority }: { readonly priority?: RunPriority }): RunPriority {
  return priority ?? 'normal';
}
