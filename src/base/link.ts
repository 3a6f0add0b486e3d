import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { realPath } from './files.ts'

/**
 * The first link on the way to `path` (absolute) behind which one is no longer where `allows` says yes. Undefined when
 * no link is to blame: then the path itself, as it is written, lies elsewhere.
 */
export function leavingLink(path: string, allows: (real: string) => boolean): string | undefined {
  for (const step of stepsFromRoot(path)) {
    if (isLink(step) && allows(realPath(dirname(step))) && !allows(realPath(step))) return step
  }
  return undefined
}

function stepsFromRoot(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...stepsFromRoot(parent), path]
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}
