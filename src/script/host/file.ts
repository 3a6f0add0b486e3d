import { changeFunctions } from './file-changes.ts'
import { csvFunctions } from './file-csv.ts'
import { formatFunctions } from './file-formats.ts'
import { listFunctions } from './file-lists.ts'
import { readFunctions } from './file-reads.ts'
import { fileHashFunctions } from './hash.ts'
import type { HostModule } from './module.ts'

/** `aip.file`. Every access is guarded (tool/guard.ts). */
export const fileModule: HostModule = {
  name: 'aip.file',
  functions: {
    ...readFunctions,
    ...listFunctions,
    ...changeFunctions,
    ...csvFunctions,
    ...formatFunctions,
    ...fileHashFunctions,
  },
}
