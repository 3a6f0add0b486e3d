import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Absolute path of a file that is built next to the bundled command; undefined if it does not exist, as from the
 * source.
 */
export function bundledFile(name: string): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url))
  return [join(here, name), join(here, '..', name)].find((file) => existsSync(file))
}
