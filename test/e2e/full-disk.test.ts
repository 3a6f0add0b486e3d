import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

it('an append that fills the disk leaves nothing behind, and is completed by the resume', async () => {
  const start = `${'x'.repeat(1023)}\n`.repeat(1024).slice(10)
  const folder = tempTree({
    'log.txt': start,
    'add.lua': 'aip.file.append("log.txt", "a line that has no room any more\\n")\nreturn "added"\n',
  })
  const env = { ...process.env, BATON_HOME: join(folder, '.home') }
  // a file size limit replaces a full disk; dash counts in units of 512 bytes
  const limited = `ulimit -f 2048; exec node ${join(root, 'dist/bin/baton.js')} add.lua`
  const failed = await promisify(execFile)('sh', ['-c', limited], { cwd: folder, env }).catch((error: unknown) => error)
  const { code, stderr } = failed as { readonly code: number; readonly stderr: string }
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('append of log.txt failed: EFBIG') })
  expect(readFileSync(join(folder, 'log.txt'), 'utf8')).toBe(start)

  const resumed = await baton(['resume', 'last'], { cwd: folder, env: { BATON_HOME: env.BATON_HOME } })
  expect(resumed).toMatchObject({ code: 0 })
  expect(readFileSync(join(folder, 'log.txt'), 'utf8')).toBe(`${start}a line that has no room any more\n`)
})
