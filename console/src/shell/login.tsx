import { useId, useState } from 'preact/hooks';
import { session, signIn } from '../lib/session.ts';
import { useStore } from '../lib/store.ts';
import { Dialog } from '../parts/dialog.tsx';
import { T } from '../texts.ts';

/** Lies over the view, which keeps what was typed in it. */
export function Login() {
  const { state } = useStore(session);
  return state === 'asking' || state === 'wrong' ? (
    <LoginDialog isWrong={state === 'wrong'} />
  ) : null;
}

function LoginDialog({ isWrong }: { readonly isWrong: boolean }) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isAsking, setAsking] = useState(false);
  const [field, hint, error] = [useId(), useId(), useId()];
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setAsking(true);
    setProblem(undefined);
    try {
      if (!(await signIn(token.trim()))) setProblem(T.login.refused);
    } catch {
      setProblem(T.login.away);
    }
    setAsking(false);
  };
  return (
    <Dialog title={T.login.title}>
      <form onSubmit={(event) => void submit(event)}>
        <p>{isWrong ? T.login.wrong : T.login.asking}</p>
        <label class="field" for={field}>
          <span>{T.login.label}</span>
          <input
            id={field}
            type="password"
            autocomplete="off"
            required
            value={token}
            aria-describedby={problem === undefined ? hint : `${error} ${hint}`}
            aria-invalid={problem !== undefined}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        <p id={error} class="problem" role="alert">
          {problem}
        </p>
        <p id={hint} class="muted">
          {T.login.hint}
        </p>
        <div class="buttons">
          <button type="submit" class="primary" disabled={isAsking}>
            {T.login.submit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
