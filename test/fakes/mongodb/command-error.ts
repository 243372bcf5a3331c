/** What a command is answered with instead of its result. */
export class CommandError extends Error {
  readonly code: number;
  readonly labels: readonly string[];

  constructor(code: number, message: string, labels: readonly string[] = []) {
    super(message);
    this.code = code;
    this.labels = labels;
  }
}
