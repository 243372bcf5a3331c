import { createStore } from './create-store.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'headgate.theme';

export const theme = createStore<Theme>(
  THEMES.find((name) => name === localStorage.getItem(KEY)) ?? 'system',
);

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = theme.get();
}

export function nextTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.get()) + 1) % THEMES.length] ?? 'system';
  localStorage.setItem(KEY, next);
  theme.set(next);
  applyTheme();
}
