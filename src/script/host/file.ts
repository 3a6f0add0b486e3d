import { changeFunctions } from './file-changes.ts'
import { dataFunctions } from './file-data.ts'
import { hashFunctions } from './file-hashes.ts'
import { htmlFunctions } from './file-html.ts'
import { jsonLineFunctions } from './file-json-lines.ts'
import { listFunctions } from './file-lists.ts'
import { readFunctions } from './file-reads.ts'
import type { HostModule } from './module.ts'
import { saveChanges } from './save-changes.ts'

/**
 * `aip.file` as far as spec/aipack.md 6.2 names it for whole files, lists, data, Markdown sections, HTML, digests and
 * spans. Paths follow 3.5, and every access is guarded (DESIGN 9).
 */
export const fileModule: HostModule = {
  name: 'aip.file',
  functions: {
    ...readFunctions,
    ...listFunctions,
    ...changeFunctions,
    ...dataFunctions,
    ...hashFunctions,
    ...htmlFunctions,
    ...jsonLineFunctions,
    save_changes: saveChanges,
  },
}
