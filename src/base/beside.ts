import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Absolute path of a file that is built beside the bundled command; undefined where that is not what runs. */
export function besideUs(name: string): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url))
  return [join(here, name), join(here, '..', name)].find((file) => existsSync(file))
}
