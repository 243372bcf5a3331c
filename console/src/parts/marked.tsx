interface MarkedProps {
  /** Of our own schemas and texts: names stand between backticks. */
  readonly text: string | undefined;
}

/** A sentence whose names are set as code. */
export function Marked({ text = '' }: MarkedProps) {
  return (
    <>
      {text
        .split(/`([^`]+)`/)
        .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
    </>
  );
}
