import { isAbsolute, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { readArchive } from './archive.ts'
import { manifestName, type PackFile } from './digest.ts'
import { readArchiveFile } from './fetch-pack.ts'
import { findPack, type PackPlaces } from './find-pack.ts'
import { withoutInstalled } from './installed-table.ts'
import { noPack } from './pack-path.ts'
import { readPackFiles } from './pack-files.ts'
import { type PackManifest, readPackManifest } from './pack-manifest.ts'
import { parsePackRef } from './pack-ref.ts'
import { refuseReserved } from './reserved.ts'

/** A pack as it is unpacked, or packed: without `[installed]`. */
export interface LoosePack {
  readonly manifest: PackManifest
  readonly files: readonly PackFile[]
}

/**
 * The pack in an `.aipack` file, or a copy of one that can be named (spec/aipack.md 7.4).
 * @throws BatonError AGENT_NOT_FOUND, FILE_UNREADABLE, FILE_FAILED, CONFIG_INVALID, USAGE for a name none may have
 */
export async function loosePack(
  what: string,
  { cwd, places, signal }: { readonly cwd: string; readonly places: PackPlaces; readonly signal: AbortSignal },
): Promise<LoosePack> {
  if (what.endsWith('.aipack')) {
    const path = isAbsolute(what) ? what : resolve(cwd, what)
    return withManifest(await readArchive(readArchiveFile(path), path, signal), path)
  }
  const ref = parsePackRef(what)
  if (ref.scope !== 'pack' || ref.subPath !== undefined) {
    throw new BatonError('USAGE', `"${what}" is not a whole pack`, {
      hint: 'Write namespace@name, or an .aipack file.',
    })
  }
  const found = findPack(ref, places)
  if (found === undefined) throw noPack(ref, places)
  return folderPack(found.dir)
}

/** The pack in a folder. */
export async function folderPack(folder: string): Promise<LoosePack> {
  return withManifest(readPackFiles(folder), folder)
}

async function withManifest(files: readonly PackFile[], from: string): Promise<LoosePack> {
  const found = files.find(({ path }) => path === manifestName)
  if (found === undefined) {
    throw new BatonError('CONFIG_INVALID', `${from} is not a pack: it has no ${manifestName}`, {
      hint: 'Under [pack] it says namespace, name and version; baton new pack NAME makes one.',
    })
  }
  const file = `${from}/${manifestName}`
  const text = await withoutInstalled(Buffer.from(found.bytes).toString('utf8'), file)
  const manifest = await readPackManifest(text, file)
  refuseReserved(manifest)
  return { manifest, files: files.map((one) => (one === found ? { ...one, bytes: Buffer.from(text) } : one)) }
}
