import type { SourceContext } from '../../../kit/context.ts';
import { parseFieldPath, readerOf } from '../../../kit/field-path.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText } from '../../../lib/text/json.ts';

/** Fills `{field}` in from the parent record. */
export function withParentValues(path: string, { parent }: SourceContext): string {
  return path.replaceAll(/\{([A-Za-z_][\w.]*)\}/g, (token, name: string) => {
    const steps = parseFieldPath(name);
    const value = parent === undefined || 'error' in steps ? undefined : readerOf(steps)(parent);
    if (value === undefined || value === null)
      throw new ConnectorError('missing', `${token} in the path has no value in the parent record`);
    const filled = jsonText(value);
    if (filled.split(/[/\\]/).includes('..'))
      throw new ConnectorError('refused', `the value of ${token} leads out of its folder`);
    return filled;
  });
}
