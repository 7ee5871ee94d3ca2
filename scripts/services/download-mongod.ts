/** A real mongod from MongoDB's official archive, or from a mirror of it. */
import { MongoBinaryDownloadUrl } from 'mongodb-memory-server-core/lib/util/MongoBinaryDownloadUrl';
import { getOS } from 'mongodb-memory-server-core/lib/util/getos';
import { downloadProgram } from './download';
import type { Part } from './parts';
import type { Setup } from './setup';

export const MONGOD: Part = { name: 'mongod', version: '8.2.6' };

/**
 * Folder of the part that holds the downloaded `mongod`. mongodb-memory-server-core knows which archive suits this
 * system; fetching is ours, because its own fetching neither checks certificates nor gives up quickly.
 */
export async function downloadMongod(setup: Setup): Promise<string> {
  const { platform, arch } = process;
  const archive = new MongoBinaryDownloadUrl({ version: MONGOD.version, platform, arch, os: await getOS() });
  const official = new URL(await archive.getDownloadUrl());
  const mirror = setup.env['SIGNALBOX_MONGOD_DOWNLOAD_URL']?.replace(/\/$/, '');
  const url = mirror ? `${mirror}${official.pathname}` : official.href;
  return downloadProgram(setup, { part: MONGOD, url, program: 'mongod' });
}
