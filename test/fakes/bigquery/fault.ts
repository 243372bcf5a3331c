/** An error as the API gives it. */
export class BigqueryFault extends Error {
  readonly status: number;
  readonly reason: string;

  // oxlint-disable-next-line max-params
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }

  get body(): unknown {
    const { status: code, reason, message } = this;
    return { error: { code, message, errors: [{ message, domain: 'global', reason }] } };
  }
}
