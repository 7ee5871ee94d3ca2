/** Fills the store with the demo organisations, through the project's own seed. */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export interface SeedResult {
  org_id: string;
  second_org_id: string;
  users: { email: string; password: string; role: string }[];
  keys: {
    mail_admin: string;
    mail_send: string;
    plat_all: string;
    plat_no_scopes: string;
    second_org_plat_all: string;
  };
  /** Starts an execution; `$BASE` stands for the base address. */
  curl: string;
}

export interface SeedOptions {
  mongodbUri: string;
  env: Record<string, string>;
  /** Where the seed remembers the keys it issued: the store holds only their hashes. */
  keysFile: string;
}

interface SeedModule {
  seedDemo(options: SeedOptions): Promise<SeedResult>;
}

/** Loaded by path, so that stand-ins can take the seed's place. */
export async function seedFrom(script: string, options: SeedOptions): Promise<SeedResult> {
  if (!existsSync(script)) throw new Error(`${script} is missing: there is nothing to fill the store with`);
  const module = (await import(pathToFileURL(script).href)) as SeedModule;
  return module.seedDemo(options);
}
