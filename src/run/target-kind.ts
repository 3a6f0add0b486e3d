import { extname, resolve } from 'node:path'
import type { ReadLog } from '../base/reads.ts'
import { isSourceFile } from '../base/source-reader.ts'
import { mayBePackName } from '../pack/pack-ref.ts'
import { findAgent } from '../pack/resolve.ts'

interface KindOptions {
  readonly cwd: string
  readonly builtInDir: string
  readonly reads?: ReadLog | undefined
}

/**
 * Whether a word of the command line names a prompt file or an agent. `.aip` and `.lua` are agents and a file that
 * exists is a prompt file; else a pack reference, a folder with `/` behind, a name without ending, and a name that an
 * agent file can be found for, are agents (spec/aipack.md 3.1).
 */
export function targetKind(file: string, { cwd, builtInDir, reads }: KindOptions): 'agent' | 'prompt' {
  if (/\.(?:aip|lua)$/.test(file)) return 'agent'
  if (file.endsWith('.md') || file === '-' || file === '' || isSourceFile(resolve(cwd, file), reads)) return 'prompt'
  if (file.endsWith('/') || mayBePackName(file) || extname(file) === '') return 'agent'
  return findAgent(file, { baseDir: cwd, builtInDir, packRoots: [], reads }) === undefined ? 'prompt' : 'agent'
}
