import { statSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { BatonError, messageOf } from '../../base/error.ts'
import { displayPath, writeFileAtomic } from '../../base/files.ts'
import { contentDigest } from '../../pack/digest.ts'
import { makeArchive } from '../../pack/make-archive.ts'
import { leftOutText, secretPackFiles } from '../../pack/pack-files.ts'
import { folderPack } from '../../pack/unpack.ts'
import { isInstallable } from '../../pack/version-gate.ts'
import { harmless } from '../../render/harmless.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

export interface PackFlags extends GlobalFlags {
  readonly folder: string
  /** A file that ends in .aipack, or a folder, which is made when it is missing. */
  readonly output: string | undefined
}

/** `baton pack FOLDER [-o FILE]`: an archive that `baton install` and AIPack take (spec/aipack.md 7.2). */
export async function packCommand(flags: PackFlags, io: CommandIo): Promise<number> {
  const { cwd } = surroundings(flags, io)
  const folder = resolve(cwd, flags.folder)
  const { manifest, files: all } = await folderPack(folder)
  const { identity, version } = manifest
  // archives of earlier times, where the folder of the pack is the current one
  const files = all.filter(({ path }) => !(path.startsWith(`${identity}-v`) && path.endsWith('.aipack')))
  const target = targetFile(flags.output, { cwd, name: `${identity}-v${version}.aipack` })
  const bytes = await makeArchive(files)
  io.signal.throwIfAborted()
  write(target, bytes)

  const digest = contentDigest(files)
  const shown = displayPath(cwd, target)
  const secret = secretPackFiles(folder)
  if (flags.json) {
    const all = { file: shown, pack: identity, version, digest, files: files.length, bytes: bytes.length }
    io.out(`${JSON.stringify({ ...all, ...(secret.length === 0 ? {} : { left_out: secret }) })}\n`)
    return 0
  }
  io.out(`${shown}\n`)
  if (secret.length > 0) io.err(`${harmless(leftOutText(secret))}\n`)
  if (flags.level !== 'quiet') io.err(`${identity} ${version}: ${files.length} files, ${digest}\n`)
  if (!isInstallable(version)) {
    io.err(`warning: a pre-release without a number is installed by force only: call it ${version}.1\n`)
  }
  return 0
}

function targetFile(
  output: string | undefined,
  { cwd, name }: { readonly cwd: string; readonly name: string },
): string {
  const path = resolve(cwd, output ?? name)
  const status = statSync(path, { throwIfNoEntry: false })
  if (status?.isDirectory() === true || /[/\\]$/.test(output ?? '')) return join(path, name)
  if (path.endsWith('.aipack')) return path
  // `-o dist` is a folder, as for AIPack; `-o notes.zip` was meant to be a file
  if (status === undefined && extname(path) === '') return join(path, name)
  throw new BatonError('USAGE', `-o ${output ?? ''} is neither a folder nor a file that ends in .aipack`, {
    hint: 'Only files with this ending are installed.',
  })
}

function write(target: string, bytes: Uint8Array): void {
  try {
    writeFileAtomic(target, bytes)
  } catch (error) {
    throw new BatonError('FILE_FAILED', `${target} cannot be written: ${messageOf(error)}`, {
      hint: 'Check the folder, and that you may write there.',
      cause: error,
    })
  }
}
