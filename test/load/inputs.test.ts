import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readInputs, workingGlobs } from '../../src/load/inputs.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'

describe('the files of -f', () => {
  const workspace = tempTree({ 'src/a.txt': 'A', 'src/deep/b.txt': 'B' })
  const cwd = join(workspace, 'src')

  it('are inputs, with paths relative to the workspace', async () => {
    const context = testContext({ workspace })
    const inputs = await readInputs({ texts: [], globs: ['*.txt', 'b.txt'], cwd }, context)
    expect(inputs).toMatchObject([{ path: 'src/a.txt' }, { path: 'src/deep/b.txt' }])
    expect(context.sent).toEqual([])
  })

  it('may be empty, which is reported', async () => {
    const context = testContext({ workspace })
    expect(await readInputs({ texts: [], globs: ['nothing*', '*.md'], cwd }, context)).toEqual([])
    expect(context.sent).toMatchObject([{ type: 'warning', message: '-f nothing*, *.md matches no file' }])
  })

  it('are an error for a path that is not a file, with a suggestion', async () => {
    const of = (...globs: readonly string[]) => readInputs({ texts: [], globs, cwd }, testContext({ workspace }))
    const missing = {
      code: 'FILE_UNREADABLE',
      message: 'there is no file depp/b.txt',
      hint: 'Did you mean deep/b.txt?',
    }
    await expect(of('a.txt', 'depp/b.txt')).rejects.toMatchObject(missing)
    await expect(of('deep')).rejects.toMatchObject({ message: 'deep is a folder' })
  })

  it('may contain glob characters, also in the name of their folder', async () => {
    const tree = { '[id]/[slug].tsx': '', '[id]/s.tsx': '', '[id]/a{b}.txt': '', '[id]/!c.md': '' }
    const folder = tempTree(tree)
    const given = { texts: [], globs: ['[slug].tsx', './a{b}.txt', '!c.md'], cwd: join(folder, '[id]') }
    const inputs = await readInputs(given, testContext({ workspace: folder }))
    expect(inputs).toMatchObject([{ path: '[id]/[slug].tsx' }, { path: '[id]/a{b}.txt' }, { path: '[id]/!c.md' }])
    const globs = [String.raw`\[id\]/\[slug\].tsx`, String.raw`\[id\]/a\{b\}.txt`, String.raw`\[id\]/\!c.md`]
    expect(workingGlobs(given, folder)).toBe(`working_globs=${JSON.stringify(globs)}`)
  })

  it('are not searched without -f', async () => {
    const context = testContext({ workspace })
    expect(await readInputs({ texts: [], globs: [], cwd }, context)).toBeNull()
    expect(context.sent).toEqual([])
  })
})
