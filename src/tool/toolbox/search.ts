import { modelText } from '../../base/model-text.ts'
import { ApartLimit, runApart } from '../../base/apart.ts'
import { findProgram } from '../../base/program.ts'
import { BatonError } from '../../base/error.ts'
import type { RunContext } from '../../event/context.ts'
import { readPieces } from '../workspace-reads.ts'
import { searchByRipgrep } from './ripgrep.ts'
import type { FileMatches, SearchOptions } from './search-files.ts'

const timeLimitMs = 30_000
const memoryMb = 256

interface Surroundings {
  /** Absolute: the folder that contains all files. */
  readonly root: string
  readonly context: RunContext
}

/**
 * Searches files (absolute paths, links resolved), in their order: with ripgrep if it is installed, otherwise in a
 * thread.
 * @throws BatonError FILE_FAILED if it takes longer than 30 seconds
 */
export async function search(
  files: readonly string[],
  options: SearchOptions,
  { root, context }: Surroundings,
): Promise<readonly FileMatches[]> {
  if (files.length === 0) return []
  const { env, signal } = context.services
  const program = findProgram('rg', env, context.scope.folders.workspace)
  if (program !== undefined) {
    const isText = (file: string): boolean => isTextFile(file, context)
    const found = await searchByRipgrep(files, { ...options, program, root, env, timeLimitMs, signal, isText })
    if (found === 'timed_out') throw tooLong()
    if (found !== undefined) return found
  }
  try {
    const task = { name: 'files.search', args: [files, options] }
    return (await runApart(task, { timeMs: timeLimitMs, memoryMb, signal })) as readonly FileMatches[]
  } catch (error) {
    throw error instanceof ApartLimit ? tooLong() : error
  }
}

function tooLong(): BatonError {
  return new BatonError('FILE_FAILED', modelText`the search was stopped after ${timeLimitMs / 1000} seconds`, {
    hint: 'Name a path or a glob, or write a simpler expression.',
  })
}

function isTextFile(file: string, context: RunContext): boolean {
  let isText = false
  const take = (piece: Buffer): boolean => {
    isText = !piece.subarray(0, 8 * 1024).includes(0)
    return false
  }
  try {
    readPieces(file, { take }, context)
  } catch {
    return false
  }
  return isText
}
