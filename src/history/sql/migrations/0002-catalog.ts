import type { Migration } from './migration.ts';
import { CATALOG_TABLES } from './catalog-tables.ts';

export const catalog: Migration = { version: 2, name: 'catalog', sql: CATALOG_TABLES };
