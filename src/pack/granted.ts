import { basename, isAbsolute, join, relative, sep } from 'node:path'
import { realPath } from '../base/files.ts'
import type { ReadLog } from '../base/reads.ts'
import { readSource, sourceExists } from '../base/source-reader.ts'
import type { Capabilities } from './capabilities.ts'
import { manifestName } from './digest.ts'
import { lockFileOf, readLock } from './lock-file.ts'
import { parsePackToml } from './pack-manifest.ts'
import { BatonError } from '../base/error.ts'
import { readCapabilities } from './capabilities.ts'

/** The pack a file belongs to, by where it lies. */
export interface OwningPack {
  readonly namespace: string
  readonly name: string
  /** `namespace@name`. */
  readonly identity: string
  /** Absolute. */
  readonly dir: string
  readonly root: string
}

/** The pack in which a file (absolute) lies, however it was named; undefined for files of no pack. */
export function packOfFile(file: string, packRoots: readonly string[]): OwningPack | undefined {
  for (const root of packRoots) {
    // most files are in no pack: links are resolved for those that could be
    if (!file.split(sep).includes(basename(root))) continue
    const pack = packBelow(root, file) ?? packBelow(realPath(root), realPath(file))
    if (pack !== undefined) return { ...pack, root }
  }
  return undefined
}

function packBelow(root: string, file: string): Omit<OwningPack, 'root'> | undefined {
  const steps = relative(root, file)
  if (isAbsolute(steps)) return undefined
  const [namespace = '', name = '', ...rest] = steps.split(sep)
  if (namespace === '..' || rest.length === 0) return undefined
  return { namespace, name, identity: `${namespace}@${name}`, dir: join(root, namespace, name) }
}

export interface PackGrant {
  /**
   * What the agents of the pack are held to: what was granted when it was installed, as the lock says, else its own
   * `[capabilities]`. Undefined: nothing, as for every pack without that table.
   */
  readonly granted: Capabilities | undefined
  /** It came from an archive, git or a URL: others wrote it, and nobody here may have read it. */
  readonly isInstalled: boolean
}

/** @throws BatonError CONFIG_INVALID for a table that is wrong: then nothing of the pack is run */
export async function packGrant({ identity, dir, root }: OwningPack, reads: ReadLog | undefined): Promise<PackGrant> {
  const lockFile = lockFileOf(root)
  const locked = lockFile === undefined ? undefined : readLock(lockFile, reads).get(identity)
  if (locked !== undefined) return { granted: locked.capabilities, isInstalled: locked.origin.kind !== 'folder' }
  const file = join(dir, manifestName)
  if (!sourceExists(file, reads)) return { granted: undefined, isInstalled: false }
  const text = readSource(file, reads)
  // nearly no pack has the table, and TOML is not loaded for those
  const granted = /capabilities/.test(text) ? await ownCapabilities(text, file) : undefined
  return { granted, isInstalled: false }
}

async function ownCapabilities(text: string, file: string): Promise<Capabilities | undefined> {
  const { data, locate } = await parsePackToml(text, file)
  if (data['capabilities'] === undefined) return undefined
  const read = readCapabilities(data['capabilities'])
  if ('capabilities' in read) return read.capabilities
  const { message, hint, path } = read.problem
  throw new BatonError('CONFIG_INVALID', message, { place: { file, text, ...(await locate(path, 'value')) }, hint })
}
