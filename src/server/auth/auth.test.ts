import { expect, test } from 'vitest';
import { permissionsOf, PERMISSIONS, permits, ROLES } from './permissions.ts';
import { refusalsOf, type Route } from '../route.ts';
import { ROUTES } from '../routes/index.ts';
import { startFixture, TOKENS, type TestRole } from '../../../test/support/server.ts';

const guarded = ROUTES.filter((route) => route.permission !== 'public');

function pathOf(route: Route): string {
  return route.path
    .replace('/v1/runs/{id}', '/v1/runs/run-1')
    .replace('{kind}', 'source')
    .replace('{name}', 'csv');
}

/**
 * Who may call what (spec 1, section 5, the table of roles). Written out, so that a change of the
 * ladder is seen.
 */
const EXPECTED: Readonly<Record<string, string>> = {
  'GET /v1/runs': 'viewer operator admin',
  'GET /v1/runs/{id}': 'viewer operator admin',
  'GET /v1/runs/{id}/logs': 'viewer operator admin',
  'POST /v1/runs': 'operator admin',
  'DELETE /v1/runs/{id}': 'operator admin',
  'POST /v1/runs/{id}/cancel': 'operator admin',
  'POST /v1/runs/{id}/rerun': 'operator admin',
  'GET /v1/runs/{id}/plan': 'viewer operator admin',
  'GET /v1/runs/{id}/receipt': 'viewer operator admin',
  'GET /runs/{id}/receipt': 'viewer operator admin',
  'POST /v1/backfill': 'operator admin',
  'POST /v1/runs/{id}/rollback': 'admin',
  'GET /v1/triggers': 'viewer operator admin',
  'POST /v1/triggers/{name}': 'operator admin',
  'PUT /v1/triggers/{name}': 'operator admin',
  'GET /v1/local-outputs': 'viewer operator admin',
  'GET /v1/local-outputs/{id}/preview': 'viewer operator admin',
  'DELETE /v1/local-outputs/{id}': 'operator admin',
  'POST /v1/local-outputs/cleanup': 'operator admin',
  'GET /v1/catalog/datasets': 'viewer operator admin',
  'GET /v1/catalog/datasets/{id}': 'viewer operator admin',
  'GET /v1/catalog/lineage': 'viewer operator admin',
  'GET /v1/schemas': 'viewer operator admin',
  'GET /v1/schemas/{kind}/{name}': 'viewer operator admin',
  'POST /v1/doctor': 'operator admin',
  'POST /v1/plan': 'operator admin',
  'POST /v1/preview': 'operator admin',
  'POST /v1/discover': 'operator admin',
  'POST /v1/verify': 'operator admin',
  'POST /v1/dlq/inspect': 'viewer operator admin',
  'POST /v1/dlq/replay': 'operator admin',
  'POST /v1/dlq/discard': 'operator admin',
  'GET /v1/whoami': 'viewer operator admin',
  'POST /mcp': 'viewer operator admin',
  'GET /v1/audit': 'admin',
  'GET /v1/cluster': 'viewer operator admin',
  'GET /v1/schedules': 'viewer operator admin',
  'GET /v1/schedules/{name}': 'viewer operator admin',
  'POST /v1/schedules/{name}/pause': 'operator admin',
  'POST /v1/schedules/{name}/resume': 'operator admin',
  'POST /v1/schedules/{name}/run': 'operator admin',
  'GET /v1/templates': 'viewer operator admin',
  'GET /v1/templates/matrix': 'viewer operator admin',
  'GET /v1/templates/{id}': 'viewer operator admin',
  'POST /v1/templates': 'admin',
  'POST /v1/templates/sync': 'admin',
  'POST /v1/templates/{id}/publish': 'admin',
  'DELETE /v1/templates/{id}': 'admin',
  'POST /v1/templates/{id}/runs': 'operator admin',
  'POST /v1/templates/{id}/tags': 'admin',
  'POST /v1/templates/{id}/launch': 'admin',
  'POST /v1/templates/{id}/rollback': 'admin',
  'POST /v1/templates/{id}/deprecate': 'admin',
  'POST /v1/templates/{id}/versions/{version}/deprecate': 'admin',
  'POST /v1/reload': 'admin',
  'GET /v1/openapi.json': 'viewer operator admin',
};

test('the table of roles below covers every guarded route and no other', () => {
  expect(guarded.map((route) => `${route.method} ${route.path}`).sort()).toEqual(
    Object.keys(EXPECTED).sort(),
  );
});

const cases = guarded.flatMap((route) =>
  ROLES.map((role) => ({ route, role, name: `${route.method} ${route.path}` })),
);

test.each(cases)(
  '$name as $role is let in or refused by the table',
  async ({ route, role, name }) => {
    const { ask, audited } = await startFixture();
    const answer = await ask(route.method, pathOf(route), {
      as: role,
      ...(route.body === undefined ? {} : { body: { config: 'version: 1' } }),
    });
    if (EXPECTED[name]?.split(' ').includes(role) === true) {
      expect([401, 403]).not.toContain(answer.status);
      expect(audited.filter(({ result }) => result === 'denied')).toEqual([]);
      return;
    }
    expect(answer.status).toBe(403);
    expect(answer.json()).toEqual({
      error: {
        code: 'forbidden',
        message: `the role ${role} of principal the-${role} lacks the permission ${route.permission}`,
      },
    });
    const runId = route.path.startsWith('/v1/runs/{id}') ? { run_id: 'run-1' } : {};
    expect(audited).toEqual([
      {
        principal: `the-${role}`,
        role,
        action: route.label,
        result: 'denied',
        source_ip: '127.0.0.1',
        ...runId,
      },
    ]);
  },
);

test.each(guarded.map((route) => ({ route, name: `${route.method} ${route.path}` })))(
  '$name without a token is a 401',
  async ({ route }) => {
    const { ask, audited } = await startFixture();
    const answer = await ask(route.method, pathOf(route), { as: null });
    expect(answer.status).toBe(401);
    expect(answer.json()).toMatchObject({ error: { code: 'unauthorized' } });
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(audited).toEqual([]);
  },
);

test('public routes need no credential and are none of /v1', async () => {
  const { ask } = await startFixture();
  for (const route of ROUTES.filter(({ permission }) => permission === 'public')) {
    expect(route.path).not.toMatch(/^\/v1/);
    expect(refusalsOf(route)).not.toContain('unauthorized');
    expect(
      (await ask(route.method, route.path.replace('{name}', 'icon.svg'), { as: null })).status,
    ).toBe(200);
  }
});

test.each([
  ['another scheme', `Basic ${TOKENS.admin}`],
  ['the scheme in lower case', `bearer ${TOKENS.admin}`],
  ['no scheme', TOKENS.admin],
  ['two spaces', `Bearer  ${TOKENS.admin}`],
  ['no token', 'Bearer '],
  ['the scheme alone', 'Bearer'],
  ['a prefix of a token', `Bearer ${TOKENS.admin.slice(0, -1)}`],
  ['a token and more', `Bearer ${TOKENS.admin}x`],
  ['nothing', ''],
])('%s in the authorization header is a 401', async (_, authorization) => {
  const { ask } = await startFixture();
  expect((await ask('GET', '/v1/runs', { as: null, headers: { authorization } })).status).toBe(401);
});

test('a token in the query is no credential', async () => {
  const { ask } = await startFixture();
  expect((await ask('GET', `/v1/runs?access_token=${TOKENS.admin}`, { as: null })).status).toBe(
    401,
  );
});

test('an audit log that cannot be written is logged and changes no answer', async () => {
  const { ask, logged } = await startFixture({ auditFails: true });
  expect((await ask('POST', '/v1/runs', { as: 'viewer', body: {} })).status).toBe(403);
  expect(logged).toEqual([expect.stringContaining('the disk is full')]);
});

test('every role holds everything of the one before, and admin holds all', () => {
  const [viewer, operator, admin] = ROLES.map(permissionsOf);
  expect(operator).toEqual(expect.arrayContaining(viewer ?? []));
  expect(admin).toEqual([...PERMISSIONS]);
  expect(permits('operator', 'template_admin')).toBe(false);
  expect(permits('operator', 'rollback')).toBe(false);
});

test.each([
  [
    'viewer',
    [
      'run_read',
      'schema_read',
      'dlq_read',
      'catalog_read',
      'template_read',
      'local_output_read',
      'identity',
    ],
  ],
  [
    'operator',
    [
      'run_read',
      'run_write',
      'schema_read',
      'doctor',
      'trigger_fire',
      'dlq_read',
      'dlq_manage',
      'catalog_read',
      'template_read',
      'local_output_read',
      'local_output_manage',
      'identity',
    ],
  ],
  ['admin', [...PERMISSIONS]],
] as [TestRole, string[]][])('whoami tells a %s what it may do', async (role, permissions) => {
  const { ask } = await startFixture();
  expect((await ask('GET', '/v1/whoami', { as: role })).json()).toEqual({
    principal: `the-${role}`,
    role,
    permissions,
  });
});
