import type { ComponentChildren } from 'preact';
import type { Asked } from '../lib/use-asked.ts';
import { Failure } from './failure.tsx';
import { Loading } from './small.tsx';

interface AskedViewProps<T> {
  readonly of: Asked<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** What the server answered; or that it has not yet, or why it did not. */
export function AskedView<T>({ of: { data, error, reload }, children }: AskedViewProps<T>) {
  return (
    <>
      {error === undefined ? null : <Failure error={error} onRetry={reload} />}
      {data === undefined ? error === undefined ? <Loading /> : null : children(data)}
    </>
  );
}
