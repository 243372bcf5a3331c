/** The body that the description of a route promises. */
export function answerOf<T>({ data }: { readonly data?: T }): T {
  if (data === undefined) throw new Error('the answer of the server has no body');
  return data;
}
