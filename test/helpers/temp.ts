import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A fresh folder with these files, links resolved; removed when the test ends. */
export function tempTree(files: { readonly [path: string]: string | Uint8Array } = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-test-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}
