import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import { BatonError, messageOf } from '../../base/error.ts'
import { displayPath, writeFileAtomic } from '../../base/files.ts'
import { refuseEscapingLink } from '../../base/link-escape.ts'
import { findWorkspace, refuseHome } from '../../config/locate.ts'
import { skippedFilesText, secretPackFiles, contentDigest, makeArchive } from '../../pack/pack-files.ts'
import { entryExists, putInPlace } from '../../pack/put-in-place.ts'
import { packageRoot } from '../../package-root.ts'
import { harmless } from '../../base/terminal-text.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, openWorkplace } from '../io.ts'
import { folderPack, loosePack } from '../../pack/fetch-pack.ts'
import { isInstallable } from '../../pack/install.ts'
import { manifestName } from '../../pack/pack-manifest.ts'
import { packRoots, workspacePacks } from '../../pack/find-pack.ts'
import { nameGuard, trustName } from '../../pack/name-guard.ts'
import { countOf } from '../../render/format.ts'

/** `baton pack FOLDER [-o FILE]`: creates an archive that `baton install` and AIPack accept. */
export async function packCommand(flags: Flags<'pack'>, io: CommandIo): Promise<number> {
  const { cwd, env, home, print, note } = openWorkplace(flags, io)
  const folder = resolve(cwd, flags.folder)
  const { manifest, files: all } = await folderPack(folder)
  const { identity, version } = manifest
  // not the earlier archives of the pack, which are in its folder if that is the current folder
  const files = all.filter(({ path }) => !(path.startsWith(`${identity}-v`) && path.endsWith('.aipack')))
  const target = targetFile(flags.output, { cwd, name: `${identity}-v${version}.aipack` })
  refuseEscapingLink(target, { within: findWorkspace({ cwd, env, home }) })
  const bytes = await makeArchive(files)
  io.signal.throwIfAborted()
  write(target, bytes)

  const digest = contentDigest(files)
  const file = displayPath(cwd, target)
  const secret = secretPackFiles(folder)
  const left_out = secret.length === 0 ? undefined : secret
  const facts = { file, pack: identity, version, digest, files: files.length, bytes: bytes.length, left_out }
  print(facts, () => `${file}\n`)
  if (flags.json) return 0
  if (secret.length > 0) io.err(`${harmless(skippedFilesText(secret))}\n`)
  note(`${identity} ${version}: ${countOf(files.length, 'file')}, ${digest}\n`)
  if (!isInstallable(version)) {
    io.err(`warning: a pre-release without a number can only be installed with --force: name it ${version}.1\n`)
  }
  return 0
}

/** A file that ends in .aipack, or a folder, which is created if it does not exist. */
function targetFile(
  output: string | undefined,
  { cwd, name }: { readonly cwd: string; readonly name: string },
): string {
  const path = resolve(cwd, output ?? name)
  const status = statSync(path, { throwIfNoEntry: false })
  if (status?.isDirectory() === true || /[/\\]$/.test(output ?? '')) return join(path, name)
  if (path.endsWith('.aipack')) return path
  // `-o dist` is a folder, as in AIPack; `-o notes.zip` was meant as a file
  if (status === undefined && extname(path) === '') return join(path, name)
  throw usageError(
    `-o ${output ?? ''} is neither a folder nor a file that ends in .aipack`,
    'Only .aipack files can be installed.',
  )
}

function write(target: string, bytes: Uint8Array): void {
  try {
    writeFileAtomic(target, bytes)
  } catch (error) {
    throw new BatonError('FILE_FAILED', `${target} cannot be written: ${messageOf(error)}`, {
      hint: 'Check the folder and its permissions.',
      cause: error,
    })
  }
}

/** `baton unpack FILE|ns@pack [FOLDER]`: an editable copy, which in the project shadows the installed pack. */
export async function unpackCommand(flags: Flags<'unpack'>, io: CommandIo): Promise<number> {
  const { cwd, env, home, print, note } = openWorkplace(flags, io)
  const workspace = findWorkspace({ cwd, env, home })
  if (flags.folder === undefined) refuseHome(workspace, home)
  const places = { packRoots: packRoots(workspace, { env, home }), builtInDir: join(packageRoot(), 'agents') }
  const { manifest, files } = await loosePack(flags.pack, { cwd, places, signal: io.signal })
  const { identity, namespace, name, version } = manifest
  const own = join(workspacePacks(workspace), namespace, name)
  const target = flags.folder === undefined ? own : resolve(cwd, flags.folder)
  refuseEscapingLink(target, { within: workspace })
  refuseTaken(target, flags)
  putInPlace(files, target, { root: flags.folder === undefined ? workspacePacks(workspace) : dirname(target) })

  if (target === own) trustName({ name: identity, path: target }, nameGuard(workspace, { env, home }))
  const folder = displayPath(cwd, target)
  print({ pack: identity, version, folder, files: files.length }, () => `${folder}\n`)
  note(target === own ? `in ${workspace}, ${identity} now means this copy\n` : `${identity} ${version}\n`)
  return 0
}

/** `--force` may replace a pack, but nothing else. */
function refuseTaken(target: string, { force }: Flags<'unpack'>): void {
  if (!entryExists(target)) return
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true
  if (isFolder && readdirSync(target).length === 0) return
  const isPack = isFolder && existsSync(join(target, manifestName))
  if (force && isPack) return
  const hint = isPack ? '--force replaces the existing pack completely.' : 'Name a folder that does not exist.'
  throw usageError(`${target} already exists`, hint)
}
