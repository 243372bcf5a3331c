/**
 * Change data capture as SQL Server documents it, with triggers of PostgreSQL in place of the job
 * that reads the log: a change gets its place when it is made, a transaction its number when it is
 * committed, in the order of the commits. `cdc.held` plays a job that stands still.
 */
export const CHANGE_DATA = String.raw`
CREATE SEQUENCE sys.log_position;
CREATE FUNCTION sys.lsn(n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS
  $$ SELECT decode('0000002a' || lpad(to_hex(n), 8, '0') || '0003', 'hex') $$;
CREATE FUNCTION sys.db_id() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 5 $$;
CREATE VIEW sys.databases AS
  SELECT 5 AS database_id, current_database()::text AS name, to_regclass('cdc.change_tables') IS NOT NULL AS is_cdc_enabled;
-- The clock of the server stands in a time zone of its own.
CREATE FUNCTION sys.getdate() RETURNS text LANGUAGE sql VOLATILE AS
  $$ SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC' + interval '2 hours', 'YYYY-MM-DD"T"HH24:MI:SS.MS') $$;
CREATE FUNCTION sys.object_name(id bigint) RETURNS text LANGUAGE sql STABLE AS
  $$ SELECT relname::text FROM pg_class WHERE oid = id::oid $$;
CREATE FUNCTION sys.object_schema_name(id bigint) RETURNS text LANGUAGE sql STABLE AS
  $$ SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = id::oid $$;

CREATE FUNCTION sys.fn_cdc_get_max_lsn() RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN (SELECT start_lsn FROM cdc.lsn_time_mapping ORDER BY start_lsn DESC LIMIT 1); END $$;
CREATE FUNCTION sys.fn_cdc_get_min_lsn(wanted text) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((SELECT start_lsn FROM cdc.change_tables WHERE lower(capture_instance) = lower(wanted)), decode(repeat('00', 10), 'hex'));
END $$;
CREATE FUNCTION sys.fn_cdc_increment_lsn(given bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  FOR at IN REVERSE 9..0 LOOP
    IF get_byte(given, at) < 255 THEN RETURN set_byte(given, at, get_byte(given, at) + 1); END IF;
    given := set_byte(given, at, 0);
  END LOOP;
  RETURN given;
END $$;
CREATE FUNCTION sys.fn_cdc_map_lsn_to_time(given bytea) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN (SELECT tran_end_time FROM cdc.lsn_time_mapping WHERE start_lsn = given); END $$;
-- A range that is not all there is told of with this error, whatever is wrong with it.
CREATE FUNCTION sys.cdc_range(instance text, low bytea, high bytea, filter text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF low IS NULL OR high IS NULL OR low > high OR low < sys.fn_cdc_get_min_lsn(instance) OR high > sys.fn_cdc_get_max_lsn()
    OR lower(filter) NOT IN ('all', 'all update old') THEN
    RAISE EXCEPTION 'An insufficient number of arguments were supplied for the procedure or function cdc.fn_cdc_get_all_changes_ ... .' USING ERRCODE = 'CD313';
  END IF;
  RETURN true;
END $$;

CREATE PROCEDURE sys.sp_cdc_enable_db() LANGUAGE plpgsql AS $$
BEGIN
  CREATE SCHEMA cdc;
  CREATE TABLE cdc.change_tables (object_id bigint, version int DEFAULT 0, source_object_id bigint, capture_instance text PRIMARY KEY,
    start_lsn bytea, end_lsn bytea, supports_net_changes boolean, has_drop_pending boolean, role_name text, index_name text);
  CREATE TABLE cdc.captured_columns (object_id bigint, column_name text, column_id int, column_type text, column_ordinal int, is_computed boolean);
  CREATE TABLE cdc.commits (xid xid8 PRIMARY KEY, start_lsn bytea UNIQUE, tran_begin_time text, tran_end_time text, tran_id bytea);
  CREATE TABLE cdc.held (until bytea);
  CREATE VIEW cdc.lsn_time_mapping AS
    SELECT start_lsn, tran_begin_time, tran_end_time, tran_id FROM cdc.commits WHERE NOT EXISTS (SELECT FROM cdc.held WHERE start_lsn > until);
END $$;
CREATE PROCEDURE sys.sp_cdc_disable_db() LANGUAGE plpgsql AS $$
DECLARE instance text;
BEGIN
  FOR instance IN SELECT capture_instance FROM cdc.change_tables LOOP CALL sys.sp_cdc_disable_table(capture_instance => instance); END LOOP;
  DROP SCHEMA cdc CASCADE;
END $$;

CREATE FUNCTION sys.cdc_lsn_of_commit() RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE found bytea;
BEGIN
  SELECT start_lsn INTO found FROM cdc.commits WHERE xid = pg_current_xact_id();
  IF found IS NOT NULL THEN RETURN found; END IF;
  -- Held until the commit is done, so numbers become visible in their order.
  PERFORM pg_advisory_xact_lock(20080807);
  found := sys.lsn(nextval('sys.log_position'));
  INSERT INTO cdc.commits VALUES (pg_current_xact_id(), found, sys.getdate(), sys.getdate(), found);
  RETURN found;
END $$;
CREATE FUNCTION sys.cdc_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('UPDATE cdc.%I SET "__$start_lsn" = $1 WHERE "__$seqval" = $2 AND "__$operation" = $3', TG_TABLE_NAME)
    USING sys.cdc_lsn_of_commit(), NEW."__$seqval", NEW."__$operation";
  RETURN NULL;
END $$;
-- The job adds an entry from time to time where nothing was captured.
CREATE PROCEDURE sys.cdc_nothing_happened() LANGUAGE plpgsql AS $$ BEGIN PERFORM sys.cdc_lsn_of_commit(); END $$;

CREATE FUNCTION sys.cdc_write(instance text, operation int, place bytea, image record, changed boolean[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  id bigint := (SELECT object_id FROM cdc.change_tables WHERE capture_instance = instance);
  size int := (array_length(changed, 1) + 7) / 8;
  mask bytea := decode(repeat('00', size), 'hex');
  images text := '';
  one record;
BEGIN
  FOR one IN SELECT * FROM cdc.captured_columns WHERE object_id = id ORDER BY column_ordinal LOOP
    IF changed[one.column_ordinal] THEN
      mask := set_bit(mask, (size - 1 - (one.column_ordinal - 1) / 8) * 8 + (one.column_ordinal - 1) % 8, 1);
    END IF;
    -- What is known of large values, and of those that the server computes.
    IF one.is_computed OR (one.column_type ~* '^n?text|^image' AND operation IN (1, 3))
      OR (one.column_type ~* '\(max\)|^xml|^n?text|^image' AND operation IN (3, 4) AND NOT changed[one.column_ordinal])
    THEN images := images || ', NULL';
    ELSE images := images || format(', ($4).%I', one.column_name);
    END IF;
  END LOOP;
  EXECUTE format('INSERT INTO cdc.%I VALUES (NULL, $1, $2, $3%s)', instance || '_CT', images) USING place, operation, mask, image;
END $$;
CREATE FUNCTION sys.cdc_capture() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  instance text := TG_ARGV[0];
  names text[] := (SELECT array_agg(column_name ORDER BY column_ordinal) FROM cdc.captured_columns AS c
    JOIN cdc.change_tables AS t USING (object_id) WHERE t.capture_instance = instance);
  place bytea := sys.lsn(nextval('sys.log_position'));
  every boolean[] := array_fill(true, ARRAY[array_length(names, 1)]);
  changed boolean[];
  moves boolean;
BEGIN
  CASE TG_OP
    WHEN 'INSERT' THEN PERFORM sys.cdc_write(instance, 2, place, NEW, every);
    WHEN 'DELETE' THEN PERFORM sys.cdc_write(instance, 1, place, OLD, every);
    ELSE
      changed := (SELECT array_agg(to_jsonb(OLD) -> name IS DISTINCT FROM to_jsonb(NEW) -> name ORDER BY at) FROM unnest(names) WITH ORDINALITY AS u (name, at));
      moves := (SELECT coalesce(bool_or(to_jsonb(OLD) -> a.attname::text IS DISTINCT FROM to_jsonb(NEW) -> a.attname::text), false)
        FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indrelid = TG_RELID AND i.indisprimary);
      -- The key of a row is changed by taking the row away and adding it again, at one place.
      IF moves THEN
        PERFORM sys.cdc_write(instance, 1, place, OLD, every);
        PERFORM sys.cdc_write(instance, 2, place, NEW, every);
      ELSE
        PERFORM sys.cdc_write(instance, 3, place, OLD, changed);
        PERFORM sys.cdc_write(instance, 4, place, NEW, changed);
      END IF;
  END CASE;
  RETURN NULL;
END $$;

CREATE PROCEDURE sys.sp_cdc_enable_table(source_schema text, source_name text, role_name text DEFAULT NULL, capture_instance text DEFAULT NULL,
  supports_net_changes int DEFAULT 0, index_name text DEFAULT NULL, captured_column_list text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  instance text := coalesce(capture_instance, source_schema || '_' || source_name);
  changes text := instance || '_CT';
  source regclass := format('%I.%I', source_schema, source_name)::regclass;
  wanted text[] := (SELECT array_agg(btrim(name, ' []')) FROM unnest(string_to_array(captured_column_list, ',')) AS name);
  one record;
  place int := 0;
BEGIN
  EXECUTE format('CREATE TABLE cdc.%I ("__$start_lsn" bytea, "__$seqval" bytea, "__$operation" int, "__$update_mask" bytea)', changes);
  INSERT INTO cdc.change_tables (object_id, source_object_id, capture_instance, start_lsn, supports_net_changes, has_drop_pending, role_name, index_name)
    VALUES (to_regclass(format('cdc.%I', changes))::oid::bigint, source::oid::bigint, instance, sys.lsn(nextval('sys.log_position')), supports_net_changes = 1, false, role_name, index_name);
  INSERT INTO sys.written_types VALUES (format('cdc.%I', changes)::regclass, '__$start_lsn', 'binary(10)'), (format('cdc.%I', changes)::regclass, '__$seqval', 'binary(10)'),
    (format('cdc.%I', changes)::regclass, '__$update_mask', 'varbinary(128)');
  FOR one IN SELECT a.*, sys.behind(a.attrelid, a.attname, a.atttypid, a.atttypmod) AS written, o.collname FROM pg_attribute AS a
    LEFT JOIN pg_collation AS o ON o.oid = a.attcollation AND o.collname <> 'default'
    WHERE a.attrelid = source AND a.attnum > 0 AND NOT a.attisdropped AND (wanted IS NULL OR a.attname::text = ANY (wanted)) ORDER BY a.attnum
  LOOP
    place := place + 1;
    EXECUTE format('ALTER TABLE cdc.%I ADD COLUMN %I %s%s', changes, one.attname, format_type(one.atttypid, one.atttypmod),
      CASE WHEN one.collname IS NULL THEN '' ELSE format(' COLLATE sys.%I', one.collname) END);
    INSERT INTO sys.written_types VALUES (format('cdc.%I', changes)::regclass, one.attname, regexp_replace(one.written, ' (identity|computed)$', ''));
    INSERT INTO cdc.captured_columns VALUES (format('cdc.%I', changes)::regclass::oid::bigint, one.attname, one.attnum, lower(one.written), place, one.written LIKE '% computed');
  END LOOP;
  EXECUTE format('CREATE INDEX ON cdc.%I ("__$seqval")', changes);
  EXECUTE format('CREATE CONSTRAINT TRIGGER committed AFTER INSERT ON cdc.%I DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION sys.cdc_commit()', changes);
  EXECUTE format('CREATE TRIGGER %I AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION sys.cdc_capture(%L)', 'cdc ' || instance, source, instance);
END $$;
CREATE PROCEDURE sys.sp_cdc_disable_table(source_schema text DEFAULT NULL, source_name text DEFAULT NULL, capture_instance text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  instance text := capture_instance;
  found record;
BEGIN
  SELECT * INTO STRICT found FROM cdc.change_tables AS t WHERE t.capture_instance = instance;
  EXECUTE format('DROP TRIGGER %I ON %s', 'cdc ' || instance, found.source_object_id::oid::regclass);
  EXECUTE format('DROP TABLE cdc.%I', instance || '_CT');
  DELETE FROM cdc.captured_columns WHERE object_id = found.object_id;
  DELETE FROM cdc.change_tables AS t WHERE t.capture_instance = instance;
END $$;
-- First the range becomes shorter, then rows are removed.
CREATE PROCEDURE sys.sp_cdc_cleanup_change_table(capture_instance text, low_water_mark bytea, threshold int DEFAULT 5000) LANGUAGE plpgsql AS $$
DECLARE instance text := capture_instance;
BEGIN
  IF NOT EXISTS (SELECT FROM cdc.lsn_time_mapping WHERE start_lsn = low_water_mark) THEN
    RAISE EXCEPTION 'LSN %, specified as the new low endpoint for the change table associated with capture instance ''%'', is not within the Change Data Capture timeline.', low_water_mark, instance USING ERRCODE = 'CD964';
  END IF;
  UPDATE cdc.change_tables AS t SET start_lsn = low_water_mark WHERE t.capture_instance = instance;
  EXECUTE format('DELETE FROM cdc.%I WHERE "__$start_lsn" < $1', instance || '_CT') USING low_water_mark;
END $$;
`;
