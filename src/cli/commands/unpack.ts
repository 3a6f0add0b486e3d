import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { findWorkspace } from '../../config/locate.ts'
import { manifestName } from '../../pack/digest.ts'
import { packRoots, workspacePacks } from '../../pack/places.ts'
import { isThere, putInPlace } from '../../pack/put-in-place.ts'
import { loosePack } from '../../pack/unpack.ts'
import { packageRoot } from '../../package-root.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

export interface UnpackFlags extends GlobalFlags {
  /** An `.aipack` file or `namespace@name`. */
  readonly pack: string
  readonly folder: string | undefined
  readonly force: boolean
}

/** `baton unpack FILE|ns@pack [FOLDER]`: a copy to change; in the project it goes before what is installed. */
export async function unpackCommand(flags: UnpackFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  const workspace = findWorkspace({ cwd, home: io.home })
  const places = { packRoots: packRoots(workspace, { env, home: io.home }), builtInDir: join(packageRoot(), 'agents') }
  const { manifest, files } = await loosePack(flags.pack, { cwd, places, signal: io.signal })
  const { identity, namespace, name, version } = manifest
  const own = join(workspacePacks(workspace), namespace, name)
  const target = flags.folder === undefined ? own : resolve(cwd, flags.folder)
  refuseTaken(target, flags)
  putInPlace(files, target, { root: flags.folder === undefined ? workspacePacks(workspace) : dirname(target) })

  const shown = displayPath(cwd, target)
  if (flags.json) io.out(`${JSON.stringify({ pack: identity, version, folder: shown, files: files.length })}\n`)
  else io.out(`${shown}\n`)
  if (!flags.json && flags.level !== 'quiet') {
    io.err(target === own ? `in ${workspace} ${identity} now means this copy\n` : `${identity} ${version}\n`)
  }
  return 0
}

/** Force replaces a pack, never anything else. */
function refuseTaken(target: string, { force }: UnpackFlags): void {
  if (!isThere(target)) return
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true
  if (isFolder && readdirSync(target).length === 0) return
  const isPack = isFolder && existsSync(join(target, manifestName))
  if (force && isPack) return
  throw new BatonError('USAGE', `${target} exists already`, {
    hint: isPack
      ? '--force replaces the pack that is there; nothing of it is kept.'
      : 'Name a folder that does not exist.',
  })
}
