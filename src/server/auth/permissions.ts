/** What a caller may do, and which role may do it. Each role includes the one before. */

export const PERMISSIONS = [
  'run_read',
  'run_write',
  'schema_read',
  'doctor',
  'trigger_fire',
  'dlq_read',
  'dlq_manage',
  'catalog_read',
  'template_read',
  'template_admin',
  'local_output_read',
  'local_output_manage',
  'rollback',
  'audit_read',
  'reload',
  'identity',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

const VIEWER: readonly Permission[] = [
  'run_read',
  'schema_read',
  'dlq_read',
  'catalog_read',
  'template_read',
  'local_output_read',
  'identity',
];
const OPERATOR: readonly Permission[] = [
  ...VIEWER,
  'run_write',
  'doctor',
  'trigger_fire',
  'dlq_manage',
  'local_output_manage',
];

const HELD: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  viewer: new Set(VIEWER),
  operator: new Set(OPERATOR),
  admin: new Set(PERMISSIONS),
};

export function permits(role: Role, permission: Permission): boolean {
  return HELD[role].has(permission);
}

/** In the order of `PERMISSIONS`, whatever the role. */
export function permissionsOf(role: Role): Permission[] {
  return PERMISSIONS.filter((permission) => permits(role, permission));
}
