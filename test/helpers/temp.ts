import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The same for all threads of a test run. */
export const tempPrefix = `baton-test-${process.pid}-`

/** A fresh folder with these files, links resolved; removed when the tests are over. */
export function tempTree(files: { readonly [path: string]: string | Uint8Array } = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), tempPrefix)))
  writeTree(folder, files)
  return folder
}

/** Writes these files below a folder, with the folders they are in. */
export function writeTree(folder: string, files: { readonly [path: string]: string | Uint8Array }): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}
