import { expect, test } from 'vitest';
import { countedMetrics } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { removeState } from './remove-state.ts';

const labels = { pipeline: 'p', row: 'r' };

test('what is removed of a row is counted, and a removal that failed by its kind', async () => {
  const metrics = countedMetrics();
  const env = testEnv({ metrics });
  const removed: string[] = [];
  const store = { delete: (key: string) => Promise.resolve(void removed.push(key)) };
  await removeState({ store, env, labels }, 'a', 'b');
  expect(removed).toEqual(['a', 'b']);
  expect(metrics.of('svc_state_delete_total')).toEqual({ '{p,r}': 2 });
  const away = { delete: () => Promise.reject(new ConnectorError('connection', 'away')) };
  await expect(removeState({ store: away, env, labels }, 'a')).rejects.toThrow('away');
  expect(metrics.of('svc_state_errors_total')).toEqual({ '{p,r,delete,connection}': 1 });
  expect(metrics.of('svc_state_delete_total')).toEqual({ '{p,r}': 2 });
});
