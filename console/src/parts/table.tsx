import type { ComponentChildren } from 'preact';

export interface Column<T> {
  readonly name: string;
  readonly isNumber?: boolean;
  /** Read by screen readers only. */
  readonly isUnnamed?: boolean;
  readonly cell: (row: T) => ComponentChildren;
}

interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
}

/** For lists of a few hundred rows; `VirtualList` is for longer ones. */
export function Table<T>({ label, columns, rows, keyOf }: TableProps<T>) {
  return (
    // What scrolls must be reached with the keyboard.
    <div class="scrolls" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ name, isNumber = false, isUnnamed = false }) => (
              <th key={name} scope="col" class={isNumber ? 'number' : undefined}>
                {isUnnamed ? <span class="hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, isNumber = false, cell }) => (
                <td key={name} class={isNumber ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
