import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readInputs } from '../../src/run/inputs.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'

describe('the files of -f', () => {
  const workspace = tempTree({ 'src/a.txt': 'A', 'src/deep/b.txt': 'B' })
  const cwd = join(workspace, 'src')

  it('are inputs, with paths from the workspace', async () => {
    const context = testContext({ workspace })
    const inputs = await readInputs({ texts: [], globs: ['*.txt', 'b.txt'], cwd }, context)
    expect(inputs).toMatchObject([{ path: 'src/a.txt' }, { path: 'src/deep/b.txt' }])
    expect(context.sent).toEqual([])
  })

  it('may be none, which is said', async () => {
    const context = testContext({ workspace })
    expect(await readInputs({ texts: [], globs: ['nothing*', 'no.md'], cwd }, context)).toEqual([])
    expect(context.sent).toMatchObject([{ type: 'warning', message: '-f nothing*, no.md matches no file' }])
  })

  it('are not looked for without -f', async () => {
    const context = testContext({ workspace })
    expect(await readInputs({ texts: [], globs: [], cwd }, context)).toBeNull()
    expect(context.sent).toEqual([])
  })
})
