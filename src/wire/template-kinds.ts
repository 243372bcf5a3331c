/** What is known of templates without their schemas, which take time to build. */

export const TEMPLATE_KINDS = [
  'source-template',
  'sink-template',
  'deployment',
  'pipeline',
] as const;

export const WRITE_MODES = ['append', 'upsert', 'delete', 'overwrite'] as const;
