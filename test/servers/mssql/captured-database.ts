/** A database of the server of the tests whose changes are captured. */
import type { Client } from 'pg';
import { Link } from '../../../src/connectors/_mssql/connection.ts';
import type { FakeMssql } from '../mssql.ts';

let databases = 0;

export class CapturedDatabase implements AsyncDisposable {
  readonly url: string;
  /** A client of the database behind. */
  readonly behind: Client;
  readonly link: Link;

  private constructor(url: string, behind: Client, link: Link) {
    this.url = url;
    this.behind = behind;
    this.link = link;
  }

  static async make(server: FakeMssql): Promise<CapturedDatabase> {
    databases += 1;
    const { url, behind } = await server.addDatabase(`captured_${databases}`);
    const link = await Link.open({ connection_url: url }, { timeoutSecs: 60 });
    await link.ask('EXEC sys.sp_cdc_enable_db');
    return new CapturedDatabase(url, behind, link);
  }

  /** A second session in the same database. */
  static async join({ url, behind }: CapturedDatabase): Promise<CapturedDatabase> {
    const link = await Link.open({ connection_url: url }, { timeoutSecs: 60 });
    return new CapturedDatabase(url, behind, link);
  }

  async run(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.link.ask(statement);
  }

  async transaction(...statements: readonly string[]): Promise<void> {
    await this.link.begin();
    await this.run(...statements);
    await this.link.commit();
  }

  /** Makes a table, and its capture instance `dbo_<table>`. */
  async table(name: string, columns: string): Promise<string> {
    await this.run(`CREATE TABLE dbo.${name} (${columns})`);
    return this.capture(name);
  }

  async capture(name: string, instance = `dbo_${name}`): Promise<string> {
    await this.run(
      `EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'${name}', @role_name = NULL, @capture_instance = N'${instance}'`,
    );
    return instance;
  }

  /** Of the last transaction. */
  async lastLsn(): Promise<string> {
    const { rows } = await this.link.ask('SELECT sys.fn_cdc_get_max_lsn() AS lsn');
    return `0x${Buffer.from(String(rows[0]?.[0]), 'base64').toString('hex').toUpperCase()}`;
  }

  /** Removes the changes of an instance before a transaction. */
  async cleanUp(instance: string, lsn: string): Promise<void> {
    await this.run(
      `EXEC sys.sp_cdc_cleanup_change_table @capture_instance = N'${instance}', @low_water_mark = ${lsn}, @threshold = 5000`,
    );
  }

  /** The job that reads the log stands still, as without the SQL Server Agent. */
  async hold(): Promise<void> {
    await this.behind.query('INSERT INTO cdc.held VALUES (sys.fn_cdc_get_max_lsn())');
  }

  async release(): Promise<void> {
    await this.behind.query('DELETE FROM cdc.held');
  }

  /** What the job adds where nothing was captured. */
  async nothingHappened(): Promise<void> {
    await this.run('EXEC sys.cdc_nothing_happened');
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.link.close();
    return Promise.resolve();
  }
}
