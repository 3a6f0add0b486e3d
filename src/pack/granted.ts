import { basename, isAbsolute, join, relative, sep } from 'node:path'
import { realPath } from '../base/files.ts'
import { refuseEscape } from '../base/link-escape.ts'
import { type ReadLog, readSource, sourceExists } from '../base/reads.ts'
import { readTomlFile } from '../base/toml.ts'
import { errorAt } from '../settings/issue.ts'
import { type Capabilities, readCapabilities } from './capabilities.ts'
import type { Pack } from './find-pack.ts'
import { lockFileOf, readLock } from './lock-file.ts'
import { manifestName } from './pack-manifest.ts'

/** The pack that a file belongs to, by location. */
export interface OwningPack extends Pack {
  readonly root: string
}

/** The pack that contains a file (absolute), under whatever path the file was named; undefined if there is none. */
export function packOfFile(file: string, packRoots: readonly string[]): OwningPack | undefined {
  for (const root of packRoots) {
    // most files are in no pack: links are resolved only for those that could be
    if (!file.split(sep).includes(basename(root))) continue
    const pack = packBelow(root, file) ?? packBelow(realPath(root), realPath(file))
    if (pack !== undefined) return { ...pack, root }
  }
  return undefined
}

function packBelow(root: string, file: string): Pack | undefined {
  const steps = relative(root, file)
  if (isAbsolute(steps)) return undefined
  const [namespace = '', name = '', ...rest] = steps.split(sep)
  if (namespace === '..' || rest.length === 0) return undefined
  return { namespace, name, identity: `${namespace}@${name}`, dir: join(root, namespace, name) }
}

export interface PackGrant {
  /**
   * What the agents of the pack may do: what was granted at installation, as recorded in the lock, else its own
   * `[capabilities]`. Undefined: no restriction, as for every pack without that table.
   */
  readonly granted: Capabilities | undefined
  /** It came from an archive, git or a URL: others wrote it, and perhaps nobody here has read it. */
  readonly isInstalled: boolean
}

/** @throws BatonError CONFIG_INVALID for an invalid table: then nothing of the pack is run */
export async function packGrant({ identity, dir, root }: OwningPack, reads: ReadLog | undefined): Promise<PackGrant> {
  const lockFile = lockFileOf(root)
  const locked = lockFile === undefined ? undefined : readLock(lockFile, reads).get(identity)
  if (locked !== undefined) return { granted: locked.capabilities, isInstalled: locked.origin.kind !== 'folder' }
  const file = join(dir, manifestName)
  if (!sourceExists(file, reads)) return { granted: undefined, isInstalled: false }
  refuseEscape(file, { within: dir, cwd: dir, reads })
  const text = readSource(file, reads)
  // very few packs have the table, and TOML is not loaded for the others
  const granted = /capabilities/.test(text) ? await ownCapabilities(text, file) : undefined
  return { granted, isInstalled: false }
}

async function ownCapabilities(text: string, file: string): Promise<Capabilities | undefined> {
  const source = await readTomlFile(file, text)
  const { capabilities } = source.data
  if (capabilities === undefined) return undefined
  const read = readCapabilities(capabilities)
  if ('problem' in read) throw await errorAt(read.problem, source)
  return read.capabilities
}
