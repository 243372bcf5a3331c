/** Names of rows and tables, made of the names of data sets. */

/** Without the schema or stream that it belongs to. */
export function shortName(name: string): string {
  return name.split('.').at(-1) ?? name;
}

/** Letters, digits, `_` and `-`, once each: `taken` holds those that are used, and gets this one. */
export function rowId(name: string, taken: Set<string>): string {
  const plain = name.replaceAll(/[^\w-]+/g, '_').replaceAll(/^_+|_+$/g, '') || 'row';
  let id = plain;
  for (let n = 2; taken.has(id); n += 1) id = `${plain}_${n}`;
  taken.add(id);
  return id;
}
