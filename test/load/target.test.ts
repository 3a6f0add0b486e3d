import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createCheckParts } from '../../src/load/check/agent.ts'
import { checkFile } from '../../src/load/check/check.ts'
import { loadTarget, promptFileOf, targetKind } from '../../src/load/target.ts'
import { loadTests } from '../../src/testing/load-tests.ts'
import { builtInDir } from '../helpers/agents.ts'
import { tempTree } from '../helpers/temp.ts'
import { strategies } from '../../src/strategies/strategies.ts'

const prompt =
  '+++\nmodel = "offline::extractive"\nsub_agents = ["./helper"]\ncontext_globs = ["*.txt"]\n+++\n\nSay it.\n'
const pack = 'home/.aipack-base/pack/custom/my/tools'

describe('a prompt file of a pack', () => {
  const root = tempTree({
    [`${pack}/plan.md`]: prompt,
    [`${pack}/deep/tested.md`]: prompt.replace(
      '+++\n\n',
      '[[test]]\nname = "says"\n[[test.expect]]\nanswer_contains = "x"\n+++\n\n',
    ),
    [`${pack}/deep/helper.lua`]: 'return nil',
    [`${pack}/helper.lua`]: 'return nil',
    'project/.aipack/x': '',
    'project/sub/x': '',
    'project/my@tools/own.md': 'Own.',
    'project/a@b.md': 'A file.',
  })
  const project = join(root, 'project')
  const options = { cwd: join(project, 'sub'), env: {}, home: join(root, 'home'), builtInDir, flags: { overrides: [] } }
  const file = join(root, pack, 'plan.md')

  it('runs by its name in the workspace it is run from', async () => {
    const target = await loadTarget({ strategies, ...options, file: 'my@tools/plan.md' })
    expect(target).toMatchObject({ kind: 'prompt', workspace: project, spec: { file } })
    expect(target.agents).toMatchObject([{ file: join(root, pack, 'helper.lua') }])
  })

  it('takes flags as files do', async () => {
    const flags = { overrides: ['temperature=0.5'], model: 'x' }
    const { settings } = await loadTarget({ strategies, ...options, flags, file: '@tools/plan.md' })
    expect(settings).toMatchObject({ temperature: 0.5, model: 'x' })
  })

  it('is checked and tested by its name', async () => {
    const parts = createCheckParts({ builtInDir })
    const { problems } = await checkFile({ strategies, ...options, file: 'my@tools/deep/tested.md' }, parts)
    await parts.close()
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
    const { cwd, env, home } = options
    const tested = await loadTests('my@tools/deep/tested.md', { cwd, env, home, overrides: [] })
    expect(tested).toMatchObject({ file: join(root, pack, 'deep/tested.md'), tests: [{ name: 'says' }] })
  })

  it('is not used if a file has this name, or no folder is named', () => {
    const around = { ...options, cwd: project }
    expect(targetKind('my@tools/own.md', around)).toBe('prompt')
    expect(promptFileOf('my@tools/own.md', around)).toBe('my@tools/own.md')
    expect(promptFileOf('a@b.md', around)).toBe('a@b.md')
    expect(promptFileOf('my@tools/plan.md', around)).toBe(file)
  })

  it('is named in the error if it is missing', async () => {
    await expect(loadTarget({ strategies, ...options, file: 'my@tools/none.md' })).rejects.toThrow(
      'there is no agent "my@tools/none.md": the pack has no such file',
    )
    await expect(loadTarget({ strategies, ...options, file: 'my@other/plan.md' })).rejects.toThrow('No aipack matches')
    await expect(loadTarget({ strategies, ...options, file: 'no@pack.md' })).rejects.toThrow('there is no file')
  })
})
