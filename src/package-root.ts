import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

let found: string | undefined

/**
 * The folder of this package: the nearest one upward with `agents/` and a package.json, so that it is found from the
 * sources, from `dist/` and from the bundled command alike.
 */
export function packageRoot(): string {
  return (found ??= findRoot())
}

function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!(existsSync(join(folder, 'package.json')) && existsSync(join(folder, 'agents')))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('the agents/ folder of this installation is missing')
    folder = parent
  }
  return folder
}
