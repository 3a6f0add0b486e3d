import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const made: string[] = []
process.on('exit', () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})

/** A fresh folder with these files, links resolved; removed when the tests of this thread are over. */
export function tempTree(files: { readonly [path: string]: string | Uint8Array } = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-test-')))
  made.push(folder)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}
