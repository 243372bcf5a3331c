import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, parseJson, type JsonObject } from '../../../lib/text/json.ts';
import { actionOf, type Action } from './actions.ts';

/** Each line is one action. */
export function actionsIn(bytes: Buffer, where: string): readonly Action[] {
  return bytes
    .toString('utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (line.trim() === '') return [];
      const place = `line ${index + 1} of ${where}`;
      return actionOf(objectIn(line, place), place) ?? [];
    });
}

function objectIn(line: string, place: string): JsonObject {
  try {
    const value = parseJson(line);
    if (isObject(value)) return value;
  } catch {
    // Told below.
  }
  throw new ConnectorError('data', `${place} is not a JSON object`, {
    hint: 'the log is damaged; restore the file',
  });
}
