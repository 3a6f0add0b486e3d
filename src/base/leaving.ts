import { resolve } from 'node:path'
import { BatonError } from './error.ts'
import { isInside, leavingLink, realPath } from './files.ts'

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
