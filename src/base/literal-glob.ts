import { isAbsolute, resolve, sep } from 'node:path'
import { entryStatus } from './entries.ts'
import { escapeGlob } from './glob-pattern.ts'
import { realName } from './real-name.ts'

const special = /[*?[\]{}!\\]/

/**
 * The glob with every character escaped that belongs to the path of something that exists: `pages/[slug].tsx` is that
 * file if it exists, `app/[id]/*.ts` starts in that folder, and `!a.md` is a file if there is one of this name. `*` and
 * `**` alone between slashes are always wildcards. `folder`: absolute, where relative globs start.
 */
export function literalGlob(glob: string, folder: string): string {
  const literal = literalStart(glob, folder)
  if (literal !== undefined || !glob.startsWith('!')) return literal ?? glob
  return `!${literalStart(glob.slice(1), folder) ?? glob.slice(1)}`
}

function literalStart(glob: string, folder: string): string | undefined {
  if (!special.test(glob) && !/[^\x21-\x7e]/.test(glob)) return undefined
  const steps = glob.split('/')
  const wild = steps.findIndex((step) => /^\*+$/.test(step))
  for (let count = wild === -1 ? steps.length : wild; count > 0; count -= 1) {
    const start = steps.slice(0, count)
    const rest = steps.slice(count)
    const last = start.at(-1) ?? ''
    if (last === '' || !isClosed(rest.join('/'))) continue
    const path = realName(resolve(folder, start.join('/')))
    if (!isThere(path)) continue
    // as it is on disk: a twin has as many names
    const names = start.includes('..') || start.includes('.') ? start : path.split(sep).slice(-count)
    const named = isAbsolute(glob) ? path.split(sep) : names
    return [...named.map(escapeGlob), ...rest].join('/')
  }
  return undefined
}

function isThere(path: string): boolean {
  try {
    return entryStatus(path) !== undefined
  } catch {
    // a name that is too long, for example
    return false
  }
}

/** Whether no bracket of the rest was opened before it. */
function isClosed(rest: string): boolean {
  let depth = 0
  for (const character of rest) {
    if (character === '{') depth += 1
    if (character === '}') depth -= 1
    if (depth < 0) return false
  }
  return true
}
