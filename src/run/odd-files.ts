import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { irregular } from '../base/regular-file.ts'

/** A path without wildcards; for `-f`, a bare name matches in every folder. */
const pathGlob = /^(\*\*\/)?([^*?[\]{}!\\]+)$/

/**
 * Pipes, sockets and devices that globs name by a path, which no run reads, each as a sentence. `baseDir` is the folder
 * that the globs start from, `found` the files that they match.
 */
export function oddFiles(
  globs: readonly string[],
  { baseDir, found }: { readonly baseDir: string; readonly found: readonly unknown[] },
): readonly string[] {
  return globs.flatMap((glob) => {
    const [, anywhere, path] = pathGlob.exec(glob) ?? []
    if (path === undefined || (anywhere !== undefined && found.length > 0)) return []
    const other = oddityOf(resolve(baseDir, path))
    return other === undefined ? [] : [`${path} ${other}`]
  })
}

function oddityOf(path: string): string | undefined {
  try {
    const status = statSync(path)
    return status.isDirectory() ? undefined : irregular(status)
  } catch {
    return undefined
  }
}
