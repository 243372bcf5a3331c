/** The type of JSON that values of a column have, by the name of its type at the server. */
export function jsonType(written: string): string {
  const [type = ''] = /^\w+/.exec(written) ?? [];
  if (type === 'bit') return 'boolean';
  if (type.endsWith('int')) return 'integer';
  return /^(?:float|real|decimal|numeric|money|smallmoney)$/.test(type) ? 'number' : 'string';
}
