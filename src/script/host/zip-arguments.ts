import { compileGlobs } from '../../base/glob.ts'
import { displayPath } from '../../base/files.ts'
import { checkArchiveFile, openZip, type ZipArchive } from '../../base/zip.ts'
import { fileStatus, readBytes } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { optionsTable, pathText, textList } from './arguments.ts'
import type { Section } from './module.ts'

/** What the option `globs` picks of the paths in an archive; everything when it is left out or empty. */
export function wantedPaths(options: LuaValue, name: string): (path: string) => boolean {
  const { globs } = optionsTable(options, name)
  const given = globs === undefined || globs === null ? [] : textList(globs, name, 'the option globs')
  return given.length === 0 ? () => true : compileGlobs(given).matches
}

/** A path that may be left out. */
export function pathOr(value: LuaValue, fallback: () => string, { name, what }: Argument): string {
  return value === undefined || value === null ? fallback() : pathText(value, name, what)
}

export interface Argument {
  readonly name: string
  readonly what: string
}

/**
 * The archive at a path (absolute), as far as the policy lets it be read.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function readArchive(path: string, { context }: Section): ZipArchive {
  const archive = displayPath(context.workspace, path)
  checkArchiveFile(fileStatus(path, context)?.size ?? 0, { archive })
  return openZip(readBytes(path, context), { archive })
}
