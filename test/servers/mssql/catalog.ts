/** What a database of SQL Server has besides its tables, as objects of PostgreSQL. */
export const CATALOG = `
CREATE SCHEMA dbo;
CREATE SCHEMA sys;
CREATE SCHEMA sys_info;
CREATE COLLATION sys."SQL_Latin1_General_CP1_CI_AS" (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION sys."Latin1_General_100_BIN2" (provider = libc, locale = 'C');
CREATE DOMAIN sys.tinyint AS smallint CHECK (VALUE BETWEEN 0 AND 255);
-- The types of columns as they were written: PostgreSQL has not all of them.
CREATE TABLE sys.written_types (relid oid, name text, type text, PRIMARY KEY (relid, name));

CREATE FUNCTION sys.as_datetime2(v text, digits int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  moment text := replace(v, 'T', ' ');
  ticks numeric;
  stamp timestamp;
BEGIN
  IF v IS NULL THEN RETURN NULL; END IF;
  IF v !~ '^\\d{4}-\\d\\d-\\d\\d([T ]\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,7})?)?$' THEN
    RAISE EXCEPTION 'invalid time %', v USING ERRCODE = '22007';
  END IF;
  stamp := substr(moment, 1, 19)::timestamp;
  ticks := round(coalesce(nullif('0' || substr(moment, 20), '0'), '0')::numeric, digits);
  IF ticks >= 1 THEN stamp := stamp + interval '1 second'; ticks := ticks - 1; END IF;
  RETURN to_char(stamp, 'YYYY-MM-DD"T"HH24:MI:SS') || CASE WHEN digits = 0 THEN '' ELSE substr(to_char(ticks, '0D' || repeat('0', digits)), 3) END;
END $$;
CREATE FUNCTION sys.as_datetimeoffset(v text, digits int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  zone text := substring(v from '([+-]\\d\\d:\\d\\d|Z)$');
  wall text := sys.as_datetime2(left(v, length(v) - length(zone)), 7);
BEGIN
  IF v IS NULL THEN RETURN NULL; END IF;
  IF zone IS NULL THEN wall := sys.as_datetime2(v, 7); zone := 'Z'; END IF;
  IF zone = 'Z' THEN zone := '+00:00'; END IF;
  wall := to_char(replace(left(wall, 19), 'T', ' ')::timestamp - (zone || ':00')::interval, 'YYYY-MM-DD"T"HH24:MI:SS') || substr(wall, 20);
  RETURN sys.as_datetime2(wall, digits);
END $$;
CREATE FUNCTION sys.as_time(v text, digits int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN substr(sys.as_datetime2('2000-01-01T' || v || CASE WHEN length(v) = 5 THEN ':00' ELSE '' END, digits), 12);
END $$;
CREATE FUNCTION sys.as_smalldatetime(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN to_char(date_trunc('minute', replace(left(sys.as_datetime2(v, 0), 19), 'T', ' ')::timestamp + interval '30 seconds'), 'YYYY-MM-DD"T"HH24:MI:SS');
END $$;
CREATE FUNCTION sys.as_datetime(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  exact text := sys.as_datetime2(v, 7);
  millis numeric := round(round(('0' || substr(exact, 20))::numeric * 300) * 10 / 3);
BEGIN
  IF v IS NULL THEN RETURN NULL; END IF;
  RETURN sys.as_datetime2(to_char(replace(left(exact, 19), 'T', ' ')::timestamp + millis * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS'), 3);
END $$;

CREATE FUNCTION sys.sysutcdatetime() RETURNS text LANGUAGE sql AS
  $$ SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '0' $$;
CREATE FUNCTION sys.object_id(v text) RETURNS bigint LANGUAGE sql STABLE AS
  $$ SELECT to_regclass(replace(replace(replace(v, '"', '""'), '[', '"'), ']', '"'))::oid::bigint $$;
CREATE FUNCTION sys.type_name(v text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT v $$;
CREATE FUNCTION sys.schema_id() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'dbo' $$;
CREATE FUNCTION sys.schema_id(v text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT v $$;
CREATE FUNCTION sys.collationproperty(v text, what text) RETURNS int LANGUAGE sql IMMUTABLE AS
  $$ SELECT CASE WHEN v IS NULL THEN NULL ELSE 1252 END $$;
CREATE FUNCTION sys.has_perms_by_name(v text, kind text, wanted text) RETURNS int LANGUAGE sql STABLE AS
  $$ SELECT CASE WHEN sys.object_id(v) IS NULL THEN NULL ELSE 1 END $$;
CREATE FUNCTION sys.behind(relid oid, attname name, typid oid, typmod int) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT type FROM sys.written_types AS w WHERE w.relid = behind.relid AND w.name = attname),
    CASE typid::regtype::text WHEN 'integer' THEN 'int' WHEN 'boolean' THEN 'bit' WHEN 'double precision' THEN 'float'
      WHEN 'uuid' THEN 'uniqueidentifier' WHEN 'bytea' THEN 'varbinary(max)' WHEN 'text' THEN 'nvarchar(max)'
      WHEN 'numeric' THEN 'decimal(' || coalesce(((typmod - 4) >> 16)::text || ',' || ((typmod - 4) & 65535)::text, '38,10') || ')'
      WHEN 'character varying' THEN 'nvarchar(' || (typmod - 4) || ')' ELSE typid::regtype::text END)
$$;

CREATE VIEW sys.all_columns AS
  SELECT a.attrelid::bigint AS object_id, a.attname::text AS name, a.attnum AS column_id,
    sys.behind(a.attrelid, a.attname, a.atttypid, a.atttypmod) AS written, a.attnotnull, a.attrelid AS relid,
    c.relname::text AS table_name, n.nspname::text AS schema_name, o.collname::text AS collation_name
  FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
  LEFT JOIN pg_collation AS o ON o.oid = a.attcollation AND o.collname <> 'default'
  WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p') AND n.nspname NOT IN ('sys', 'sys_info', 'pg_catalog', 'information_schema');
CREATE VIEW sys.columns AS
  SELECT object_id, name, column_id, base AS system_type_id, base AS user_type_id,
    CASE WHEN size = 'max' OR base IN ('xml', 'text', 'ntext') THEN -1 WHEN base LIKE 'n%char' THEN size::int * 2 WHEN base ~ 'char|binary' THEN size::int ELSE 8 END AS max_length,
    CASE WHEN base IN ('decimal', 'numeric') THEN coalesce(size::int, 18) ELSE 0 END AS precision,
    CASE WHEN base IN ('decimal', 'numeric') THEN coalesce(digits::int, 0) WHEN base IN ('time', 'datetime2', 'datetimeoffset') THEN coalesce(size::int, 7) ELSE 0 END AS scale,
    NOT attnotnull AS is_nullable, written LIKE '% identity' AS is_identity, written LIKE '% computed' AS is_computed,
    0 AS generated_always_type, object_id * 10000 + column_id AS default_object_id,
    CASE WHEN base ~ 'char|text' THEN coalesce(collation_name, 'SQL_Latin1_General_CP1_CI_AS') END AS collation_name
  FROM (SELECT *, lower(substring(written from '^\\w+')) AS base, lower(substring(written from '\\(\\s*(\\w+)')) AS size,
      substring(written from ',\\s*(\\d+)') AS digits FROM sys.all_columns) AS x;
CREATE VIEW sys.default_constraints AS
  SELECT adrelid::bigint * 10000 + adnum AS object_id, pg_get_expr(adbin, adrelid) AS definition
  FROM pg_attrdef AS d JOIN pg_attribute AS a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE a.attgenerated = '' AND a.attidentity = '';
CREATE VIEW sys.schemas AS SELECT nspname::text AS name, nspname::text AS schema_id FROM pg_namespace;
CREATE VIEW sys.tables AS
  SELECT DISTINCT table_name AS name, object_id, schema_name AS schema_id FROM sys.all_columns;
CREATE VIEW sys.dm_db_partition_stats AS
  SELECT oid::bigint AS object_id, 0 AS index_id, greatest(reltuples, 0)::bigint AS row_count FROM pg_class WHERE relkind = 'r';
CREATE VIEW sys.indexes AS
  SELECT indrelid::bigint AS object_id, indexrelid::bigint AS index_id, indisunique::int AS is_unique, (indpred IS NOT NULL)::int AS has_filter, 0 AS is_disabled FROM pg_index;
CREATE VIEW sys.index_columns AS
  SELECT indrelid::bigint AS object_id, indexrelid::bigint AS index_id, k.attnum AS column_id, k.place AS key_ordinal
  FROM pg_index, unnest(indkey::int2[]) WITH ORDINALITY AS k (attnum, place);
CREATE VIEW sys_info.tables AS
  SELECT DISTINCT schema_name AS table_schema, table_name, 'BASE TABLE' AS table_type FROM sys.all_columns;
CREATE VIEW sys_info.columns AS
  SELECT schema_name AS table_schema, table_name, name AS column_name, column_id AS ordinal_position,
    lower(substring(written from '^\\w+')) AS data_type, CASE WHEN attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable
  FROM sys.all_columns;
`;

/** Error numbers of SQL Server for those of PostgreSQL. */
export const NUMBERS: Readonly<Record<string, number>> = {
  '23505': 2627,
  '23502': 515,
  '23503': 547,
  '23514': 547,
  '42P01': 208,
  '42703': 207,
  '42P07': 2714,
  '42501': 229,
  '22P02': 245,
  '22007': 241,
  '22008': 241,
  '22003': 8115,
  '22001': 2628,
  '40P01': 1205,
  '40001': 1205,
  '21000': 8672,
  '428C9': 544,
  '3D000': 4060,
  '42601': 102,
  '3F000': 208,
  CD313: 313,
  CD964: 22_964,
};
