/** The Temporal CLI from its official archive, or from a mirror of it. */
import { downloadProgram } from './download';
import type { Part } from './parts';
import type { Setup } from './setup';

const OFFICIAL = 'https://temporal.download/cli/archive';

const PLATFORMS: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', darwin: 'darwin' };
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** Folder of the part that holds the downloaded `temporal`. */
export async function downloadTemporal(setup: Setup, part: Part): Promise<string> {
  const platform = PLATFORMS[process.platform];
  const architecture = ARCHITECTURES[process.arch];
  if (!platform || !architecture) throw new Error(`none for ${process.platform} ${process.arch}`);
  const base = (setup.env['SIGNALBOX_TEMPORAL_DOWNLOAD_URL'] || OFFICIAL).replace(/\/$/, '');
  const url = `${base}/${part.version}?platform=${platform}&arch=${architecture}`;
  return downloadProgram(setup, { part, url, program: 'temporal' });
}
