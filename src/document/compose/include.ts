/** What `!include` leaves in a parsed text: the content of a file is to stand here. */
export class Include {
  /** The path as written. */
  readonly target: string;

  constructor(target: string) {
    this.target = target;
  }
}
