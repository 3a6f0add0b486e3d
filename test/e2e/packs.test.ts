import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const fence = '```'

function aip(lua: string): string {
  return `# Output\n\n${fence}lua\n${lua}\n${fence}\n`
}

const files = {
  '.aipack/config.toml': '[default_options]\nmodel = "small-low"\nmodel_aliases = { small = "gpt-5-mini" }\n',
  '.aipack/pack/custom/ns/p/main.aip': aip('return require("words").greet(CTX.PACK_IDENTITY, options.resolved_model)'),
  '.aipack/pack/custom/ns/p/sub/main.aip': aip('print(CTX.PACK_REF)'),
  '.aipack/pack/custom/ns/p/lua/words.lua': 'return { greet = function(who, model) return who .. " " .. model end }',
  'tools/hello.aip': aip(
    'return options.model .. " " .. CTX.BATON_VERSION .. " " .. aip.agent.run("helper").outputs[1]',
  ),
  'tools/helper.aip': aip('return options.model'),
  'tools/broken.aip': aip('require("bad")'),
  'tools/lua/bad.lua': 'local x = 1\nerror("in the module")\n',
}

describe('agents and packs on the command line', () => {
  const cwd = tempTree(files)

  it.each([
    ['ns@p', 'ns@p gpt-5-mini-low\n'],
    ['@p', 'ns@p gpt-5-mini-low\n'],
    ['ns@p/sub', 'ns@p/sub\n'],
  ])('runs %s', async (name, stdout) => {
    expect(await baton(['run', name], { cwd })).toMatchObject({ code: 0, stdout })
  })

  it('runs names without an extension from the current folder, with -m for the main agent alone', async () => {
    expect(await baton(['hello', '-m', 'flag'], { cwd: join(cwd, 'tools') })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^flag \d+\.\d+\.\d+ small-low\n$/),
    })
  })

  it('finds packs and config below the home folder', async () => {
    const home = tempTree()
    cpSync(join(cwd, '.aipack/pack/custom'), join(home, '.aipack-base/pack/installed'), { recursive: true })
    cpSync(join(cwd, '.aipack/config.toml'), join(home, '.aipack-base/config-user.toml'))
    expect(await baton(['ns@p'], { cwd: tempTree({ '.git/HEAD': '' }), env: { HOME: home } })).toMatchObject({
      code: 0,
      stdout: 'ns@p gpt-5-mini-low\n',
    })
  })

  it.each([
    ['missing-agent', "No agent found for local path: 'missing-agent'"],
    ['nope@nope', 'No aipack matches for nope@nope'],
    ['nope@@nope', 'is not a pack reference: it has more than one @'],
  ])('refuses %s with exit code 2', async (name, message) => {
    const run = await baton(['run', name], { cwd })
    expect(run).toMatchObject({ code: 2, stdout: '' })
    expect(run.stderr).toContain(message)
    expect(run.stderr).toMatch(/^hint: /m)
  })

  it('shows the line of the module that raised an error', async () => {
    const run = await baton(['run', 'tools/broken'], { cwd })
    expect(run.code).toBe(1)
    expect(run.stderr).toContain('in the module')
    expect(run.stderr).toContain('at tools/lua/bad.lua:2')
    expect(run.stderr).toContain('> 2 | error("in the module")')
  })

  it('reports unknown keys in check, but not in a run', async () => {
    const odd = tempTree({ ...files, '.aipack/config.toml': '[options]\nmodle = "x"\n' })
    const check = await baton(['check', 'tools/helper'], { cwd: odd })
    expect(check).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing reads the option "modle"') })
    expect((await baton(['ns@p/sub'], { cwd: odd })).stderr).not.toContain('modle')
  })
})
