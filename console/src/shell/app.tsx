import type { ComponentChildren } from 'preact';
import { lazy, Suspense } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { address, goTo, linkTo } from '../lib/address.ts';
import { useKeys } from '../lib/keys.ts';
import { connected, hasToken, session, signOut } from '../lib/session.ts';
import { useStore } from '../lib/store.ts';
import { nextTheme, theme } from '../lib/theme.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icons.tsx';
import { Empty, Loading, Notes, notify } from '../parts/small.tsx';
import { RunPage } from '../run/run-page.tsx';
import { RunsPage } from '../runs/runs-page.tsx';
import { T } from '../texts.ts';
import { Login } from './login.tsx';

// The editor alone weighs more than the rest.
const AuthorPage = lazy(async () => (await import('../author/author-page.tsx')).AuthorPage);
const OperatePage = lazy(async () => (await import('../operate/operate-page.tsx')).OperatePage);
const DataPage = lazy(async () => (await import('../data/data-page.tsx')).DataPage);

const PLACES = [
  { id: 'runs', key: 'g r', name: T.nav.runs },
  { id: 'author', key: 'g a', name: T.nav.author },
  { id: 'operate', key: 'g o', name: T.nav.operate },
  { id: 'data', key: 'g d', name: T.nav.data },
] as const;

export function App() {
  const { path } = useStore(address);
  const place = path[0] ?? 'runs';
  const [showsKeys, setShowsKeys] = useState(false);
  useKeys({
    '?': () => setShowsKeys(true),
    ...Object.fromEntries(PLACES.map(({ id, key }) => [key, () => goTo(linkTo([id]))])),
  });
  useFocusInView(path.join('/'));
  useEffect(() => {
    const name = PLACES.find(({ id }) => id === place)?.name;
    document.title = [path[1], name, T.product].filter((part) => part !== undefined).join(' · ');
  }, [path]);
  return (
    <>
      <a class="skip" href="#content" onClick={focusContent}>
        {T.skip}
      </a>
      <Header place={place} onKeys={() => setShowsKeys(true)} />
      <Connection />
      <main id="content" tabIndex={-1}>
        <Suspense fallback={<Loading />}>{view(path)}</Suspense>
      </main>
      <Notes />
      <Login />
      {showsKeys ? <Keys onClose={() => setShowsKeys(false)} /> : null}
    </>
  );
}

function view(path: readonly string[]): ComponentChildren {
  const [place = 'runs', name] = path;
  if (place === 'runs') return name === undefined ? <RunsPage /> : <RunPage key={name} id={name} />;
  if (place === 'author') return <AuthorPage />;
  if (place === 'operate') return <OperatePage />;
  if (place === 'data') return <DataPage />;
  return (
    <Empty title={T.notFound}>
      <a href={linkTo(['runs'])}>{T.toRuns}</a>
    </Empty>
  );
}

/** Whoever has come to another view by the keyboard goes on in it, and not before the navigation. */
function useFocusInView(place: string): void {
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.closest('header.top') !== null)
      document.getElementById('content')?.focus({ preventScroll: true });
  }, [place]);
}

function focusContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function Header({ place, onKeys }: { readonly place: string; readonly onKeys: () => void }) {
  const { identity } = useStore(session);
  const chosen = useStore(theme);
  return (
    <header class="top">
      <a class="brand" href={linkTo(['runs'])}>
        <img src="/assets/icon.svg" alt="" width="22" height="22" />
        <span>{T.product}</span>
      </a>
      <nav aria-label={T.nav.label}>
        {PLACES.map(({ id, name }) => (
          <a key={id} href={linkTo([id])} aria-current={id === place ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <div class="who">
        {identity === undefined ? null : (
          <span class="muted principal">
            {identity.principal} · {identity.role}
          </span>
        )}
        <button
          type="button"
          class="quiet"
          aria-label={`${T.nav.theme}: ${T.nav.themes[chosen]}`}
          title={`${T.nav.theme}: ${T.nav.themes[chosen]}`}
          onClick={nextTheme}
        >
          <Icon name="theme" />
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={T.nav.keys}
          title={T.nav.keys}
          onClick={onKeys}
        >
          <Icon name="keys" />
        </button>
        {identity !== undefined && hasToken() ? (
          <button
            type="button"
            class="quiet"
            aria-label={T.nav.signOut}
            title={T.nav.signOut}
            onClick={signOut}
          >
            <Icon name="leave" />
          </button>
        ) : null}
      </div>
    </header>
  );
}

function Connection() {
  const isConnected = useStore(connected);
  const wasAway = useRef(false);
  useEffect(() => {
    if (isConnected && wasAway.current) notify(T.back);
    wasAway.current = !isConnected;
  }, [isConnected]);
  return (
    <div role="status">
      {isConnected ? null : (
        <p class="away">
          <Icon name="warning" /> {T.away}
        </p>
      )}
    </div>
  );
}

function Keys({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title={T.keys.title} onClose={onClose}>
      <table class="plain">
        <tbody>
          {T.keys.list.map(([key, does]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
