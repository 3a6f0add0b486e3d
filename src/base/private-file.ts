import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { randomName } from './random-name.ts'

/**
 * Writes a file that only its owner may read. Other processes see the whole text, or what was there before. A write that
 * fails, as on a full disk, leaves nothing behind. `flush`: the text is on the disk when this returns.
 * @throws the system error
 */
export function writeWholeFile(file: string, text: string, { flush = false }: { readonly flush?: boolean } = {}): void {
  const temporary = join(dirname(file), `.${basename(file)}-${randomName()}.tmp`)
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush })
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
