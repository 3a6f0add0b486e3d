import { basename, dirname, join, parse, sep } from 'node:path'
import { entryStatus, namesIn } from './entries.ts'
import { nearest } from './suggest.ts'

/** Names with a letter or space that can be written in several ways. */
const variable = /[^\x21-\x7e]/
const spaces = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g

/**
 * The path (absolute) as it is on disk, if it is there with another kind of space or another composition of its letters:
 * screenshots of macOS have narrow no-break spaces, and copies from it decomposed letters. Unchanged if it exists as
 * written, is not there in any form, or in several.
 */
export function realName(path: string): string {
  if (!variable.test(path) || entryStatus(path) !== undefined) return path
  const folder = dirname(path)
  if (folder === path) return path
  const parent = realName(folder)
  const name = basename(path)
  const twins = variable.test(name) ? twinsIn(parent, name) : []
  const [twin = name] = twins.length === 1 ? twins : []
  return join(parent, twin)
}

/**
 * The paths that differ from one that is not there (absolute) only in the kinds of spaces and the composition of letters
 * of its name, sorted.
 */
export function lookalikePaths(path: string): readonly string[] {
  if (!variable.test(basename(path)) || entryStatus(path) !== undefined) return []
  const parent = realName(dirname(path))
  return twinsIn(parent, basename(path))
    .toSorted()
    .map((name) => join(parent, name))
}

function twinsIn(folder: string, name: string): readonly string[] {
  const form = plainName(name)
  return namesIn(folder).filter((one) => plainName(one) === form)
}

function plainName(name: string): string {
  return name.normalize('NFC').replaceAll(spaces, ' ')
}

/** The path (absolute) that exists and is written most like this one; undefined if nothing is. */
export function nearestPath(path: string): string | undefined {
  const { root } = parse(path)
  let found = root
  for (const step of path.slice(root.length).split(sep)) {
    const exact = join(found, step)
    const name = entryStatus(exact) === undefined ? nearest(step, namesIn(found)) : step
    if (name === undefined) return undefined
    found = join(found, name)
  }
  return found
}
