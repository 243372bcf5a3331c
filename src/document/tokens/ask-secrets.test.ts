import { describe, expect, it } from 'vitest';
import { loadOptions } from '../../../test/fakes/documents.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { Registry } from '../../kit/parts.ts';
import { defineSecretManager, type SecretManager } from '../../kit/secrets.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { ConfigError, ConnectorError, type ConnectorErrorKind } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { vault } from '../../secrets/vault.ts';
import { Redactor } from '../../lib/redact.ts';
import { secretAsker, type AskSecrets } from './ask-secrets.ts';
import type { Document } from '../document.ts';
import { loadDocument, loadWithSecrets, type LoadOptions } from '../load.ts';
import { restoreEscapes } from './tokens.ts';

type Answer = string | JsonObject | ConnectorError;

/** A manager in memory. Several answers of a secret are given one after the other. */
function desk(secrets: Readonly<Record<string, Answer | readonly Answer[]>>) {
  const seen = { reads: [] as string[], atOnce: 0, most: 0, opened: 0, closed: 0, slept: 0 };
  const read: SecretManager['read'] = async (name) => {
    const nth = seen.reads.filter((one) => one === name).length;
    seen.reads.push(name);
    seen.atOnce += 1;
    seen.most = Math.max(seen.most, seen.atOnce);
    await new Promise((resolve) => setImmediate(resolve));
    seen.atOnce -= 1;
    const answers =
      secrets[name] ??
      new ConnectorError('missing', 'there is no such secret', { hint: 'look again' });
    const answer = Array.isArray(answers)
      ? (answers as readonly Answer[])[Math.min(nth, answers.length - 1)]
      : (answers as Answer);
    if (answer === undefined || answer instanceof ConnectorError)
      throw answer ?? new Error('no answer');
    return answer;
  };
  const manager = defineSecretManager({
    type: 'vault',
    form: vault.form,
    parse: vault.parse,
    description: 'in memory',
    settings: [],
    open: () => {
      seen.opened += 1;
      return Promise.resolve({ read, close: async () => void (seen.closed += 1) });
    },
  });
  const clock: Clock = {
    now: () => new Date(0),
    elapsedMs: () => 0,
    sleep: async () => void (seen.slept += 1),
  };
  const ask = secretAsker({ managers: new Registry([manager]), env: testEnv({ clock }) });
  return { ask, seen };
}

const loadTree = (
  tree: JsonValue,
  ask: AskSecrets,
  options: Partial<LoadOptions> = {},
): Promise<Document> =>
  loadWithSecrets(JSON.stringify(tree, null, 2), loadOptions({ format: 'json', ...options }), ask);

async function filled(tree: JsonObject, ask: AskSecrets): Promise<JsonObject> {
  return restoreEscapes((await loadTree(tree, ask)).tree);
}

async function issuesOf(tree: JsonObject, ask: AskSecrets) {
  const error: unknown = await loadTree(tree, ask).catch((why: unknown) => why);
  if (error instanceof ConfigError) return error;
  throw new Error('nothing was refused', { cause: error });
}

const failing = (kind: ConnectorErrorKind): ConnectorError =>
  new ConnectorError(kind, 'as the test wants it');

describe('the secrets of a document (spec 2.5)', () => {
  it('stand wherever values do, as text', async () => {
    const { ask } = desk({ a: { user: 'me', port: 5432, list: [1, 2], none: null }, b: 'plain' });
    const tree = {
      vars: { all: '${vault:a}' },
      auth: { x: '${vault:a#user}' },
      state: { port: '${vault:a#port}' },
      list: ['x-${vault:a#list}-${vault:b}', '${vars.all}', '${vault:a#none}'],
    };
    expect(await filled(tree, ask)).toEqual({
      vars: { all: '{"user":"me","port":5432,"list":[1,2],"none":null}' },
      auth: { x: 'me' },
      state: { port: '5432' },
      list: ['x-[1,2]-plain', '{"user":"me","port":5432,"list":[1,2],"none":null}', 'null'],
    });
  });

  it('are read once each, however many places and fields name them', async () => {
    const { ask, seen } = desk({ a: { x: '1', y: '2' }, b: 'b' });
    await filled(
      { one: '${vault:a#x}', two: ['${vault:a#y}', '${vault:a#x}'], three: '${vault:b}' },
      ask,
    );
    expect(seen.reads.sort()).toEqual(['a', 'b']);
    expect([seen.opened, seen.closed]).toEqual([1, 1]);
  });

  it('are read eight at a time', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `s${index}`);
    const { ask, seen } = desk(Object.fromEntries(names.map((name) => [name, name])));
    expect(await filled({ all: names.map((name) => `\${vault:${name}}`) }, ask)).toEqual({
      all: names,
    });
    expect(seen.most).toBe(8);
  });

  it('may be named by other values and secrets', async () => {
    const { ask } = desk({ 'apps/value': { key: 'deep' }, deep: 'found' });
    const tree = {
      a: '${vault:${vault:apps/${env:NAME}#key}}',
      b: '${vault:apps/${vars.which}#key}',
      vars: { which: '${env:NAME}' },
    };
    expect(await filled(tree, ask)).toMatchObject({ a: 'found', b: 'deep' });
  });

  it('are data: they hold no tokens and change no shape', async () => {
    const { ask } = desk({ a: '${now.date} ${env:NAME} {x: 1}\n$', b: '{y}' });
    expect(await filled({ a: '${vault:a}${vault:b}' }, ask)).toEqual({
      a: '${now.date} ${env:NAME} {x: 1}\n${y}',
    });
  });

  it('are known to the redactor', async () => {
    const { ask } = desk({ a: { key: 's3cr3t-value', other: 'not-asked-for' } });
    const redactor = new Redactor();
    await loadTree({ a: '${vault:a#key}' }, ask, { redactor });
    expect(redactor.text('s3cr3t-value not-asked-for')).toBe('*** not-asked-for');
  });

  it('cost nothing when there are none', async () => {
    const { ask, seen } = desk({});
    await filled({ a: '${env:NAME}' }, ask);
    expect(seen.opened).toBe(0);
  });
});

describe('what cannot be read', () => {
  it('is reported at every place, with line and hint and no value', async () => {
    const { ask } = desk({
      a: { user: 'me-myself' },
      b: 'plain-text',
      c: failing('auth'),
      d: failing('refused'),
      e: '[1]',
    });
    const tree = {
      x: { y: '${vault:none}' },
      z: [
        '${vault:none}',
        '${vault:a#pass}',
        '${vault:b#f}',
        '${vault:c}',
        '${vault:d}',
        '${vault:e#f}',
      ],
    };
    const { stage, issues } = await issuesOf(tree, ask);
    expect(stage).toBe('interpolate');
    expect(issues.map(({ code, path, line }) => `${code} ${path} ${line ?? ''}`)).toEqual([
      'secret_not_found x.y 3',
      'secret_not_found z[0] 6',
      'secret_field z[1] 7',
      'secret_field z[2] 8',
      'secret_denied z[3] 9',
      'secret_unavailable z[4] 10',
      'secret_field z[5] 11',
    ]);
    expect(issues[0]).toMatchObject({
      message: '`${vault:none}` is not there: there is no such secret',
      hint: 'look again',
    });
    expect(issues[2]?.hint).toBe('it has `user`');
    expect(JSON.stringify(issues)).not.toMatch(/me-myself|plain-text/);
  });

  it('is asked for again only after a failure that may pass, three times in all', async () => {
    for (const kind of ['connection', 'timeout', 'rate_limited', 'http_5xx'] as const) {
      const { ask, seen } = desk({
        a: [failing(kind), failing(kind), 'at last'],
        b: failing(kind),
      });
      expect(await filled({ a: '${vault:a}' }, ask)).toEqual({ a: 'at last' });
      expect(seen.slept).toBe(2);
      expect((await issuesOf({ b: '${vault:b}' }, ask)).issues[0]?.code).toBe('secret_unavailable');
      expect(seen.reads.filter((name) => name === 'b')).toHaveLength(3);
    }
    for (const kind of ['auth', 'missing', 'refused', 'data'] as const) {
      const { ask, seen } = desk({ a: failing(kind) });
      await issuesOf({ a: '${vault:a}' }, ask);
      expect(seen.reads).toHaveLength(1);
    }
  });

  it('is given up when nobody answers', async () => {
    const silent = defineSecretManager({
      type: 'vault',
      form: vault.form,
      parse: vault.parse,
      description: 'never answers',
      settings: [],
      open: () =>
        Promise.resolve({
          read: () => new Promise<never>(() => {}),
          close: () => Promise.resolve(),
        }),
    });
    const clock: Clock = {
      now: () => new Date(0),
      elapsedMs: () => 0,
      sleep: () => Promise.resolve(),
    };
    const ask = secretAsker({
      managers: new Registry([silent]),
      env: testEnv({ clock }),
      timeoutMs: 5,
    });
    // A silent connection would keep the process alive; here nothing does.
    const alive = setInterval(() => {}, 1000);
    const { issues } = await issuesOf({ a: '${vault:a}' }, ask);
    clearInterval(alive);
    expect(issues[0]).toMatchObject({
      code: 'secret_unavailable',
      message: '`${vault:a}` cannot be read: no answer within 0.005 s',
    });
  });

  it('ends at once when the signal fires', async () => {
    const stop = new AbortController();
    const { seen } = desk({});
    const never = defineSecretManager({
      type: 'vault',
      form: vault.form,
      parse: vault.parse,
      description: 'stops the test',
      settings: [],
      open: () => {
        stop.abort(new Error('enough'));
        return Promise.resolve({
          read: () => new Promise<never>(() => {}),
          close: async () => void (seen.closed += 1),
        });
      },
    });
    const ask = secretAsker({
      managers: new Registry([never]),
      env: testEnv(),
      signal: stop.signal,
    });
    await expect(loadTree({ a: '${vault:a}' }, ask)).rejects.toThrow('enough');
    expect(seen.closed).toBe(1);
  });

  it('is not asked for while something else is wrong with the tokens', async () => {
    const { ask, seen } = desk({ a: 'x' });
    expect(
      (await issuesOf({ a: '${vault:a}', b: '${env:NO_SUCH}' }, ask)).issues.map(
        ({ code }) => code,
      ),
    ).toEqual(['missing_variable']);
    expect(seen.opened).toBe(0);
  });

  it('is of a manager that the build does not have', async () => {
    const load = loadTree({ a: '${aws-sm:x}' }, desk({}).ask, { secretManagers: new Registry([]) });
    await expect(load).rejects.toMatchObject({
      issues: [
        {
          code: 'unknown_token',
          message: '`${aws-sm:…}` is not a token',
          hint: 'there are: env, secret, file, map',
        },
      ],
    });
  });
});

describe('secrets cannot stand', () => {
  it('in keys and in parameters', async () => {
    const { ask, seen } = desk({ a: 'x' });
    const tree = {
      'key-${vault:a}': 1,
      params: { p: { default: '${vault:a}' }, q: { computed: '${vault:a}' } },
    };
    expect(
      (await issuesOf(tree, ask)).issues.map(({ code, path }) => `${code} ${path}`).sort(),
    ).toEqual([
      'token_out_of_scope ',
      'token_out_of_scope params.p.default',
      'token_out_of_scope params.q.computed',
    ]);
    expect(seen.opened).toBe(0);
  });

  it('where nobody asks for them', () => {
    const options = loadOptions({ format: 'json' });
    expect(() => loadDocument('{"a":"${vault:a}"}', options)).toThrow(
      'secrets managers are not asked here',
    );
    expect(
      loadDocument('{"a":"${vault:a${env:PART}}"}', { ...options, secrets: 'keep' }).tree,
    ).toEqual({ a: '${vault:aAM}' });
  });
});
