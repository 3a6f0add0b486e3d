import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { isInside, realPath } from './files.ts'

/** The absolute path of an installed program; one below `workspace` is none. Undefined: there is none. */
export function findProgram(
  name: string,
  { PATH = '' }: Readonly<Record<string, string | undefined>>,
  workspace: string,
): string | undefined {
  for (const folder of PATH.split(delimiter)) {
    const program = join(folder, name)
    if (isAbsolute(folder) && isProgram(program) && !isInside(workspace, realPath(program))) return program
  }
  return undefined
}

/** Whether a path, absolute, is a file that can be executed. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
