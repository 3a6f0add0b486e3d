import { readdirSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { builtinCommands } from './slash/builtin.ts'

const mostOffered = 100

/**
 * Completions for Tab: command names after a slash, and paths after an `@`, which names a file.
 * @param text the text before the cursor
 * @param commands names of command files
 */
export async function completeTyped(
  text: string,
  cwd: string,
  commands: readonly string[] = [],
): Promise<{ readonly word: string; readonly options: readonly string[] }> {
  const [, name] = /^\/([\w:-]*)$/.exec(text) ?? []
  if (name !== undefined) {
    const all = [...Object.keys(builtinCommands), ...commands]
    return { word: text, options: all.filter((one) => one.startsWith(name)).map((one) => `/${one} `) }
  }
  const [word = '', path] = /@(\S*)$/.exec(text) ?? []
  return { word, options: path === undefined ? [] : pathsFor(path, cwd).map((one) => `@${one}`) }
}

/** Files and folders that complete a path; a folder ends with a slash, so that typing can continue. */
function pathsFor(path: string, cwd: string): readonly string[] {
  const folder = path.endsWith('/') ? path : path.includes('/') ? `${dirname(path)}/` : ''
  const begin = path.endsWith('/') ? '' : basename(path)
  try {
    return readdirSync(resolve(cwd, folder === '' ? '.' : folder), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(begin) && (begin.startsWith('.') || !name.startsWith('.')))
      .toSorted((left, right) => left.name.localeCompare(right.name))
      .slice(0, mostOffered)
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ' '}`)
  } catch {
    return []
  }
}
