import { changeFunctions } from './file-changes.ts'
import { csvReadFunctions } from './file-csv-reads.ts'
import { csvWriteFunctions } from './file-csv-writes.ts'
import { dataFunctions } from './file-data.ts'
import { docxFunctions } from './file-docx.ts'
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
    ...csvReadFunctions,
    ...csvWriteFunctions,
    ...dataFunctions,
    ...docxFunctions,
    ...hashFunctions,
    ...htmlFunctions,
    ...jsonLineFunctions,
    /**
     * `aip.file.save_changes(path, changes) → FileInfo, {changed_count, failed_changes?}`
     * Changes a file by blocks of `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE` lines, each replacing the first
     * place where its text is found; without any such line the text is the whole new content. What is not found is
     * listed in `failed_changes`; blocks that are not well formed are an error.
     */
    save_changes: saveChanges,
  },
}
