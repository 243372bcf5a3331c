/** What a database of Oracle has besides its tables, as objects of PostgreSQL. */

/** The user of the tests, whose name is that of the schema of its tables. */
export const OWNER = 'TESTER';

export const CATALOG = `
CREATE SCHEMA "${OWNER}";
CREATE SCHEMA ora;
-- The types of columns as they were written: PostgreSQL has not all of them.
CREATE TABLE ora.written_types (relid oid, name text, type text, PRIMARY KEY (relid, name));
CREATE TABLE ora."DUAL" AS SELECT 'X'::text AS "DUMMY";

CREATE FUNCTION ora.moment(v text, digits int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF v IS NULL THEN RETURN NULL; END IF;
  IF v !~ '^\\d{4}-\\d\\d-\\d\\d([T ]\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?)?$' THEN
    RAISE EXCEPTION 'invalid time %', v USING ERRCODE = '22007';
  END IF;
  RETURN to_char(replace(left(v, 19), 'T', ' ')::timestamp, 'YYYY-MM-DD"T"HH24:MI:SS')
    || CASE WHEN digits = 0 THEN '' ELSE '.' || rpad(substr(v, 21), digits, '0') END;
END $$;
CREATE FUNCTION ora."TO_DATE"(v text, f text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF f <> 'YYYY-MM-DD"T"HH24:MI:SS' THEN RAISE EXCEPTION 'format %', f USING ERRCODE = '22023'; END IF;
  RETURN ora.moment(v, 0);
END $$;
CREATE FUNCTION ora."TO_TIMESTAMP"(v text, f text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF f <> 'YYYY-MM-DD"T"HH24:MI:SS.FF9' THEN RAISE EXCEPTION 'format %', f USING ERRCODE = '22023'; END IF;
  RETURN ora.moment(v, 9);
END $$;
CREATE FUNCTION ora."TO_TIMESTAMP_TZ"(v text, f text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  zone text := substring(v from '[+-]\\d\\d:\\d\\d$');
  wall text := ora.moment(left(v, length(v) - 6), 9);
BEGIN
  IF f <> 'YYYY-MM-DD"T"HH24:MI:SS.FF9TZH:TZM' THEN RAISE EXCEPTION 'format %', f USING ERRCODE = '22023'; END IF;
  IF v IS NULL THEN RETURN NULL; END IF;
  IF zone IS NULL THEN RAISE EXCEPTION 'no zone in %', v USING ERRCODE = '22007'; END IF;
  RETURN to_char(replace(left(wall, 19), 'T', ' ')::timestamp - (zone || ':00')::interval, 'YYYY-MM-DD"T"HH24:MI:SS') || substr(wall, 20) || 'Z';
END $$;
CREATE FUNCTION ora."TO_YMINTERVAL"(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF v !~ '^[+-]\\d+-\\d+$' THEN RAISE EXCEPTION 'invalid interval %', v USING ERRCODE = '22007'; END IF;
  RETURN v;
END $$;
CREATE FUNCTION ora."TO_DSINTERVAL"(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF v !~ '^[+-]\\d+ \\d\\d:\\d\\d:\\d\\d\\.\\d{1,9}$' THEN RAISE EXCEPTION 'invalid interval %', v USING ERRCODE = '22007'; END IF;
  RETURN v;
END $$;
CREATE FUNCTION ora."TO_NUMBER"(v text) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT v::numeric $$;
CREATE FUNCTION ora."TO_BINARY_DOUBLE"(v text) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$ SELECT replace(v, 'Inf', 'Infinity')::double precision $$;
CREATE FUNCTION ora."TO_BINARY_FLOAT"(v text) RETURNS real LANGUAGE sql IMMUTABLE AS $$ SELECT replace(v, 'Inf', 'Infinity')::real $$;
CREATE FUNCTION ora."HEXTORAW"(v text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT decode(v, 'hex') $$;
CREATE FUNCTION ora."JSON"(v text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$ SELECT v::jsonb $$;
CREATE FUNCTION ora."JSON_SERIALIZE"(v jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT v::text $$;
CREATE FUNCTION ora."TO_BOOLEAN"(v text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT v::boolean $$;
CREATE FUNCTION ora."CHARTOROWID"(v text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT v $$;
CREATE FUNCTION ora."TO_CHAR"(v numeric) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT trim_scale(v)::text $$;
CREATE FUNCTION ora."TO_CHAR"(v text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT v $$;
CREATE FUNCTION ora."RPAD"(v text, n numeric) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT rpad(v, n::int) $$;
CREATE FUNCTION ora."SUBSTR"(v text, s numeric, n numeric) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT substr(v, s::int, n::int) $$;
CREATE FUNCTION ora."REGEXP_LIKE"(v text, p text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT v ~ p $$;
CREATE FUNCTION ora."SYSTIMESTAMP"() RETURNS text LANGUAGE sql AS
  $$ SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '000Z' $$;
CREATE FUNCTION ora."SYS_CONTEXT"(space text, name text) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT CASE WHEN space = 'USERENV' AND name = 'CURRENT_SCHEMA' THEN '${OWNER}' END $$;
-- Waits, so that something can be stopped.
CREATE FUNCTION ora."SLEEP"(secs numeric) RETURNS text LANGUAGE sql AS $$ SELECT pg_sleep(secs)::text $$;

CREATE VIEW ora.all_columns AS
  SELECT a.attrelid, n.nspname::text AS owner, c.relname::text AS table_name, a.attname::text AS name, a.attnum, a.attnotnull, a.attgenerated, a.attidentity,
    (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef AS d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum) AS expression,
    (SELECT type FROM ora.written_types AS w WHERE w.relid = a.attrelid AND w.name = a.attname) AS written,
    greatest(c.reltuples, 0) AS rows
  FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind = 'r' AND n.nspname NOT IN ('ora', 'pg_catalog', 'information_schema', 'pg_toast');
CREATE VIEW ora."ALL_TAB_COLS" AS
  SELECT owner AS "OWNER", table_name AS "TABLE_NAME", name AS "COLUMN_NAME", attnum AS "COLUMN_ID", 'NO' AS "HIDDEN_COLUMN",
    regexp_replace(written, ' ?\\((\\d+)( ?BYTE| ?CHAR|,-?\\d+)?\\)$', '') AS "DATA_TYPE",
    CASE WHEN written ~ '^(N?VARCHAR2|N?CHAR|RAW)' THEN substring(written from '\\((\\d+)')::numeric ELSE 4000 END AS "DATA_LENGTH",
    CASE WHEN written ~ '^(N?VARCHAR2|N?CHAR)' THEN substring(written from '\\((\\d+)')::numeric ELSE 0 END AS "CHAR_LENGTH",
    CASE WHEN written ~ '^(N?VARCHAR2|N?CHAR)' THEN CASE WHEN written ~ '^N|CHAR\\)$' THEN 'C' ELSE 'B' END END AS "CHAR_USED",
    CASE WHEN written ~ '^NUMBER' THEN substring(written from '\\((\\d+)')::numeric END AS "DATA_PRECISION",
    CASE WHEN written ~ '^NUMBER' THEN coalesce(substring(written from ',(-?\\d+)'), CASE WHEN written ~ '\\(' THEN '0' END)::numeric
      WHEN written ~ '^TIMESTAMP' THEN coalesce(substring(written from '\\((\\d)')::numeric, 6) END AS "DATA_SCALE",
    CASE WHEN attnotnull THEN 'N' ELSE 'Y' END AS "NULLABLE",
    CASE WHEN attgenerated = '' THEN length(expression)::numeric END AS "DEFAULT_LENGTH",
    CASE WHEN attgenerated = '' THEN 'NO' ELSE 'YES' END AS "VIRTUAL_COLUMN",
    CASE WHEN attidentity = '' THEN 'NO' ELSE 'YES' END AS "IDENTITY_COLUMN"
  FROM ora.all_columns;
CREATE VIEW ora."ALL_TAB_IDENTITY_COLS" AS
  SELECT owner AS "OWNER", table_name AS "TABLE_NAME", name AS "COLUMN_NAME", CASE attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END AS "GENERATION_TYPE"
  FROM ora.all_columns WHERE attidentity <> '';
CREATE VIEW ora."ALL_TABLES" AS SELECT DISTINCT owner AS "OWNER", table_name AS "TABLE_NAME", rows::numeric AS "NUM_ROWS" FROM ora.all_columns;
CREATE VIEW ora."ALL_USERS" AS SELECT 'SYS' AS "USERNAME", 'Y' AS "ORACLE_MAINTAINED" UNION ALL SELECT '${OWNER}', 'N';
CREATE VIEW ora."ALL_INDEXES" AS
  SELECT n.nspname::text AS "OWNER", i.relname::text AS "INDEX_NAME", n.nspname::text AS "TABLE_OWNER", t.relname::text AS "TABLE_NAME",
    CASE WHEN x.indisunique THEN 'UNIQUE' ELSE 'NONUNIQUE' END AS "UNIQUENESS"
  FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_class AS t ON t.oid = x.indrelid JOIN pg_namespace AS n ON n.oid = t.relnamespace;
CREATE VIEW ora."ALL_IND_COLUMNS" AS
  SELECT n.nspname::text AS "INDEX_OWNER", i.relname::text AS "INDEX_NAME", a.attname::text AS "COLUMN_NAME", k.place::numeric AS "COLUMN_POSITION"
  FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_namespace AS n ON n.oid = i.relnamespace,
    unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, place), pg_attribute AS a
  WHERE a.attrelid = x.indrelid AND a.attnum = k.attnum;
CREATE TABLE ora.granted (owner text, name text, privilege text);
CREATE VIEW ora."ALL_TAB_PRIVS" AS SELECT owner AS "TABLE_SCHEMA", name AS "TABLE_NAME", privilege AS "PRIVILEGE" FROM ora.granted;
CREATE VIEW ora."SESSION_PRIVS" AS SELECT 'CREATE TABLE' AS "PRIVILEGE";
`;

/** Error numbers of Oracle for those of PostgreSQL, with their messages. */
export const ERRORS: Readonly<Record<string, readonly [number: number, message?: string]>> = {
  '23505': [1, 'unique constraint violated'],
  '23502': [1400, 'cannot insert NULL'],
  '23503': [2291, 'integrity constraint violated - parent key not found'],
  '23514': [2290, 'check constraint violated'],
  '42P01': [942, 'table or view does not exist'],
  '3F000': [942, 'table or view does not exist'],
  '42703': [904],
  '42883': [904],
  '42P07': [955, 'name is already used by an existing object'],
  '42501': [1031, 'insufficient privileges'],
  '22P02': [1722, 'invalid number'],
  '22007': [1843, 'not a valid month'],
  '22008': [1843, 'not a valid month'],
  '22023': [1821, 'date format not recognized'],
  '22003': [1438, 'value larger than specified precision allowed for this column'],
  '22001': [12_899, 'value too large for column'],
  '40P01': [60, 'deadlock detected while waiting for resource'],
  '40001': [8177, "can't serialize access for this transaction"],
  '57014': [1013, 'user requested cancel of current operation'],
  '42804': [932, 'inconsistent datatypes'],
  '42601': [900, 'invalid SQL statement'],
  '428C9': [32_795, 'cannot insert into a generated always identity column'],
};
