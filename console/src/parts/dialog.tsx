import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { T } from '../texts.ts';
import { Icon } from './icons.tsx';

interface DialogProps {
  readonly title: string;
  readonly isWide?: boolean;
  /** Absent: it cannot be closed. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

/** The browser's own: it keeps the focus inside, and closes with Escape. */
export function Dialog({ title, isWide = false, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      // The shortcuts of the page behind it are not for it.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        {onClose === undefined ? null : (
          <button type="button" class="quiet" aria-label={T.common.cancel} onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </header>
      {children}
    </dialog>
  );
}
