import type { HostModule } from './module.ts'
import { changeFunctions } from './file-changes.ts'
import { listFunctions } from './file-lists.ts'
import { readFunctions } from './file-reads.ts'

/**
 * `aip.file` as far as spec/aipack.md 6.2 names it for whole files, lists, JSON, Markdown sections and spans. Paths
 * follow 3.5, and every access is guarded (DESIGN 9).
 */
export const fileModule: HostModule = {
  name: 'aip.file',
  functions: { ...readFunctions, ...listFunctions, ...changeFunctions },
}
