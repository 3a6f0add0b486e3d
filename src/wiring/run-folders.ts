import { join } from 'node:path'
import { realPath } from '../base/files.ts'
import type { NamedFolders } from '../journal/portable.ts'
import { packageRoot } from '../package-root.ts'

/** The folders of this machine that a run may name in what it records; see `createPathTokens`. */
export function runFolders({ workspace, home }: { readonly workspace: string; readonly home: string }): NamedFolders {
  return { workspace, home: realPath(home), builtin: join(packageRoot(), 'agents') }
}
