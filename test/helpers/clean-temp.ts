import { readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tempPrefix } from './temp.ts'

/** Removes what the tests of this process have left in the temporary folder: their threads are ended, and do not exit. */
export function teardown(): void {
  const own = readdirSync(tmpdir()).filter((name) => name.startsWith(tempPrefix))
  for (const name of own) rmSync(join(tmpdir(), name), { recursive: true, force: true })
}
