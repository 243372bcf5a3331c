import { joinPath } from '../../lib/text/text-path.ts';
import { reportUnknownType } from '../plan-part.ts';
import type { RowContext } from '../row-context.ts';
import type { ResolvedRow } from '../resolved-row.ts';

/**
 * Presets name parts that exist and keys that those know, also where no row uses them; what is
 * missing in one a row may add.
 */
export function checkPresets(
  rows: readonly Partial<Pick<ResolvedRow, 'source' | 'sink'>>[],
  { blocks: { pipeline }, parts, planner, issues }: RowContext,
): void {
  for (const [kind, presets, registry] of [
    ['source', pipeline.sources, parts.sources],
    ['sink', pipeline.sinks, parts.sinks],
  ] as const) {
    const used = new Set(rows.map((resolved) => resolved[kind]?.preset));
    for (const [name, placed] of presets) {
      if (placed === undefined) continue;
      const { path, value } = placed;
      const definition = registry.get(value.type);
      if (definition === undefined) {
        reportUnknownType(
          { kind, type: value.type, path: joinPath(path, 'type'), registry },
          issues,
        );
      } else if (!used.has(name))
        planner.judgePreset({ path, config: value.config ?? {} }, definition);
    }
  }
}
