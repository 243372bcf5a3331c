import type { Issue } from '../../parts/failure.tsx';

interface WrongProps {
  readonly id?: string;
  readonly of: readonly Issue[];
  /** What this page itself has to say. */
  readonly notes?: readonly (string | undefined)[];
}

/** What is wrong with a value, beside it. */
export function Wrong({ id, of, notes = [] }: WrongProps) {
  const told = [
    ...notes.filter((note) => note !== undefined),
    ...of.map(({ message, hint }) => (hint === undefined ? message : `${message} – ${hint}`)),
  ];
  return (
    <div id={id} class="wrong">
      {told.map((text, index) => (
        <p key={index}>{text}</p>
      ))}
    </div>
  );
}
