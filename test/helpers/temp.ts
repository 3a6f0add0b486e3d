import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export const tempPrefix = 'baton-test-'
/** The temporary folder of a test run, the same for all its threads; see clean-temp.ts. */
export const testTemp = join(tmpdir().replace(new RegExp(`/${tempPrefix}\\d+$`), ''), `${tempPrefix}${process.pid}`)

/** A fresh folder with these files, with links in its path resolved; removed when the tests are done. */
export function tempTree(files: { readonly [path: string]: string | Uint8Array } = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 't-')))
  writeTree(folder, files)
  return folder
}

/** Writes these files below a folder, creating their folders. */
export function writeTree(folder: string, files: { readonly [path: string]: string | Uint8Array }): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}
