import type { ColumnKind } from '../typed/column-kinds.ts';
import { bytesOfStoredDuration } from '../typed/duration.ts';
import { unscaledOf } from './exact-values.ts';

/** A stored value as the smaller library takes it: bytes and unscaled decimals are no texts. */
export function libraryForm(value: unknown, kind: ColumnKind): unknown {
  if (value === undefined) return undefined;
  switch (kind.is) {
    case 'json':
      return new TextEncoder().encode(value as string);
    case 'typed':
      if (kind.type.kind === 'interval') return bytesOfStoredDuration(value as string);
      if (kind.type.kind === 'binary')
        return new Uint8Array(Buffer.from(value as string, 'base64'));
      return kind.type.kind === 'decimal'
        ? unscaledOf(value as string, kind.type.scale ?? 0)
        : value;
    case 'list':
      return (value as unknown[]).map((item) => libraryForm(item, kind.of));
    case 'map':
      return (value as { key: unknown; value: unknown }[]).map((entry) => ({
        key: libraryForm(entry.key, kind.key),
        value: libraryForm(entry.value, kind.value),
      }));
    case 'struct':
      return Object.fromEntries(
        [...kind.fields].map(([name, inner]) => [
          name,
          libraryForm((value as Record<string, unknown>)[name], inner),
        ]),
      );
    default:
      return value;
  }
}
