import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { isInside, realPath } from './files.ts'

/** The absolute path of an installed program, ignoring those below `workspace`. Undefined if none is found. */
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

/** Whether a path (absolute) is an executable file. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
