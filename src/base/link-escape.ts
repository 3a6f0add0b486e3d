import { resolve } from 'node:path'
import { BatonError, isBatonError } from './error.ts'
import { displayPath, isInside, escapingLink, realPath } from './files.ts'
import { isStored, type ReadLog } from './reads.ts'

interface Writing {
  /** Folder (absolute) that must not be left. */
  readonly within: string
  /** Names the path in messages; default: the path itself. */
  readonly shown?: string
}

/**
 * Refuses to write through a link inside a folder that leads out of it: somebody else may have put it there.
 * @throws BatonError OUTSIDE_WORKSPACE that names the link and its target
 */
export function refuseEscapingLink(path: string, { within, shown = path }: Writing): void {
  const root = realPath(within)
  const link = escapingLink(resolve(path), (real) => isInside(root, real))
  if (link === undefined) return
  throw new BatonError(
    'OUTSIDE_WORKSPACE',
    `${shown} leads out of ${root} through the link ${link}, to ${realPath(path)}`,
    {
      hint: 'Remove the link, or name its target if that is the file you want to write.',
    },
  )
}

/** Why a file is not read, as `refuseEscape` says it; undefined if it may be. */
export function escapeReason(path: string, options: Parameters<typeof refuseEscape>[1]): string | undefined {
  try {
    refuseEscape(path, options)
    return undefined
  } catch (error) {
    if (isBatonError(error)) return error.message
    throw error
  }
}

/**
 * Refuses to read a named file through a link that leads out of its folder: whoever put it there does not decide what a
 * model is sent. Stored sources are used as recorded, whatever the link leads to now.
 * @throws BatonError OUTSIDE_WORKSPACE that names the link
 */
export function refuseEscape(
  path: string,
  { within, cwd, reads }: { readonly within: string; readonly cwd: string; readonly reads?: ReadLog | undefined },
): void {
  if (isStored(path, reads)) return
  const root = realPath(within)
  const link = escapingLink(resolve(path), (real) => isInside(root, real))
  if (link === undefined) return
  const from = realPath(cwd)
  const shown = displayPath(from, path)
  throw new BatonError(
    'OUTSIDE_WORKSPACE',
    `${shown} leads outside the workspace through the link ${displayPath(from, link)}`,
    { place: { file: shown }, hint: 'Replace the link with the file itself.' },
  )
}
