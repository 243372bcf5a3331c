import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { T } from '../texts.ts';
import { Dialog } from './dialog.tsx';
import { Failure } from './failure.tsx';

interface ActionDialogProps {
  readonly title: string;
  readonly go: string;
  readonly isWide?: boolean;
  readonly isDangerous?: boolean;
  readonly act: () => Promise<void>;
  readonly onClose: () => void;
  /** A second button, before that one. */
  readonly tryFirst?: { readonly name: string; readonly act: () => Promise<void> };
  readonly children: ComponentChildren;
}

/** Says what will be done; does it; keeps what was typed when the server refuses. */
export function ActionDialog(props: ActionDialogProps) {
  const {
    title,
    go,
    isWide = false,
    isDangerous = false,
    act,
    onClose,
    tryFirst,
    children,
  } = props;
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const attempt = async (what: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await what();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <Dialog title={title} isWide={isWide} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(act);
        }}
      >
        {children}
        {error === undefined ? null : <Failure error={error} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            {T.common.cancel}
          </button>
          {tryFirst === undefined ? null : (
            <button type="button" disabled={isBusy} onClick={() => void attempt(tryFirst.act)}>
              {tryFirst.name}
            </button>
          )}
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={isBusy}>
            {go}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
