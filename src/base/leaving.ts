import { resolve } from 'node:path'
import { BatonError } from './error.ts'
import { displayPath, isInside, leavingLink, realPath } from './files.ts'
import { isStored, type ReadLog } from './reads.ts'

interface Writing {
  /** Folder (absolute) that must not be left. */
  readonly within: string
  /** Names the path in messages; its own text when left out. */
  readonly shown?: string
}

/**
 * Refuses to write where a link leads that is in a folder, and leads out of it: somebody else may have put it there.
 * @throws BatonError OUTSIDE_WORKSPACE that names the link and its target
 */
export function refuseLeavingLink(path: string, { within, shown = path }: Writing): void {
  const root = realPath(within)
  const link = leavingLink(resolve(path), (real) => isInside(root, real))
  if (link === undefined) return
  throw new BatonError(
    'OUTSIDE_WORKSPACE',
    `${shown} leads out of ${root} through the link ${link}, to ${realPath(path)}`,
    {
      hint: 'Remove the link; or name what it leads to, if that is what you want to write.',
    },
  )
}

/**
 * Refuses to read a file that is named in a folder where a link of it leads out: whoever has put it there does not choose
 * what a model is sent. What a run has stored is what it was, wherever a link leads by now.
 * @throws BatonError OUTSIDE_WORKSPACE that names the link
 */
export function refuseLeadingOut(
  path: string,
  { within, cwd, reads }: { readonly within: string; readonly cwd: string; readonly reads?: ReadLog | undefined },
): void {
  if (isStored(path, reads)) return
  const root = realPath(within)
  const link = leavingLink(resolve(path), (real) => isInside(root, real))
  if (link === undefined) return
  const from = realPath(cwd)
  const shown = displayPath(from, path)
  throw new BatonError(
    'OUTSIDE_WORKSPACE',
    `${shown} leads outside the workspace through the link ${displayPath(from, link)}`,
    { place: { file: shown }, hint: 'Put the file itself there.' },
  )
}
