import { expect, it } from 'vitest';
import { GRAMMAR } from '../blocks/index.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { joinPath } from '../lib/text/text-path.ts';
import { parts } from '../parts.ts';
import { editorSchema } from './editor-schema.ts';
import { secretValues } from './secret-values.ts';

const schema = editorSchema(parts, GRAMMAR);

function shown(tree: JsonObject): Record<string, string> {
  return Object.fromEntries(
    secretValues(tree, schema).map(({ steps, shown: text }) => [joinPath('', ...steps), text]),
  );
}

it('what a schema marks as secret is found wherever the part stands', () => {
  const file = {
    type: 'file',
    config: { path: 's', encryption: { key: 'k1', previous_keys: ['k2'] } },
  };
  expect(shown({ pipeline: { state: file } })).toEqual({
    'pipeline.state.config.encryption.key': '***',
    'pipeline.state.config.encryption.previous_keys[0]': '***',
  });
  expect(
    shown({
      notifications: [{ channel: { type: 'incident_api', config: { routing_key: 'abc' } } }],
      pipeline: { transforms: [{ type: 'hash', config: { fields: ['key'], salt: 'pepper' } }] },
    }),
  ).toEqual({
    'notifications[0].channel.config.routing_key': '***',
    'pipeline.transforms[0].config.salt': '***',
  });
});

it('a name tells a secret where no schema knows it: a profile, a header, an unknown part', () => {
  expect(
    shown({
      profiles: { dev: { pipeline: { sink: { config: { password: 'p', path: 'x' } } } } },
      pipeline: {
        source: {
          type: 'unknown',
          config: { api_key: 7, headers: { accept: 'text/csv', 'X-Anything': 'v' } },
        },
      },
    }),
  ).toEqual({
    'profiles.dev.pipeline.sink.config.password': '***',
    'pipeline.source.config.api_key': '***',
    'pipeline.source.config.headers.X-Anything': '***',
  });
});

it('an address goes without its password; one that is a secret as a whole is masked', () => {
  const sink = {
    type: 'postgres',
    config: { connection_url: 'postgres://me:pw@h/d', table_name: 't' },
  };
  const channel = { type: 'slack', config: { webhook_url: 'https://hooks.example/T0/B0' } };
  expect(shown({ pipeline: { sink }, notifications: [{ channel }] })).toEqual({
    'pipeline.sink.config.connection_url': 'postgres://h/d',
    'notifications[0].channel.config.webhook_url': '***',
  });
});

it('tokens stay, and the variables and parameters that they name are secret', () => {
  expect(
    shown({
      vars: { token: 'x', name: 'y', login: { password: 'z' } },
      params: { p: { default: 'd' }, q: { secret: true, default: 'e' }, r: { default: 'f' } },
      pipeline: {
        source: {
          type: 'rest',
          config: {
            base_url: '${vars.name}',
            headers: { a: 'Bearer ${vars.login}', b: '${param.p}', c: 'literal-${param.r}' },
          },
        },
        sink: {
          type: 'postgres',
          config: { connection_url: 'postgres://${env:USER}:${env:PW}@${env:HOST}/db' },
        },
      },
    }),
  ).toEqual({
    'vars.token': '***',
    'params.q.default': '***',
    'pipeline.source.config.headers.c': '***',
    'vars.login.password': '***',
    'params.p.default': '***',
    'params.r.default': '***',
  });
});
