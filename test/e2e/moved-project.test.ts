import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

/** Writes a file, knows where it is, and fails until `needed.txt` exists. */
const agent = `aip.file.save("made.txt", CTX.WORKSPACE_DIR)
aip.file.append("log.txt", "once ")
return "at " .. CTX.WORKSPACE_DIR .. ": " .. aip.file.load("needed.txt").content
`

/** A project with a failed run. */
async function world() {
  const root = tempTree({ 'project/agents/a.lua': agent, 'project/baton.toml': '', 'other/x': '' })
  const env = { BATON_HOME: join(root, 'home') }
  const at = (folder: string, ...args: readonly string[]): Promise<BatonResult> =>
    baton(args, { cwd: join(root, folder), env })
  const failed = await at('project', 'run', 'agents/a.lua')
  const [, id = ''] = /resume: baton resume (\S+)/.exec(failed.stderr) ?? []
  const move = (): void => renameSync(join(root, 'project'), join(root, 'moved'))
  return { root, at, id, move, path: (name: string) => join(root, name) }
}

describe('a project that was moved', () => {
  it('lists the last run of its former folder, and shows and removes it by its id', async () => {
    const { at, id, move, path } = await world()
    move()
    const { stdout, stderr } = await at('moved', 'runs')
    expect([stdout, stderr]).toEqual([
      '',
      `no runs of this workspace yet\nthe last run of ${path('project')}, which no longer exists, is ${id}\n`,
    ])
    expect((await at('moved', 'runs', 'show', id)).stdout).toContain(`${id}  failed`)
    expect(await at('moved', 'runs', 'rm', id)).toMatchObject({ code: 0, stdout: `removed ${id}\n` })
  })

  it('resumes a run without repeating anything, and undoes it, all in its new folder', async () => {
    const { at, id, move, path } = await world()
    move()
    writeFileSync(path('moved/needed.txt'), 'there')
    const says = `run ${id} was recorded in ${path('project')}, which no longer exists; its files are now those of ${path('moved')}\n`
    const resumed = await at('moved', 'resume', id)
    expect(resumed).toMatchObject({ code: 0, stdout: `at ${path('moved')}: there\n` })
    expect(resumed.stderr).toContain(says)
    expect(readFileSync(path('moved/log.txt'), 'utf8')).toBe('once ')
    expect(readdirSync(path('.'))).not.toContain('project')

    const undone = await at('moved', 'undo', id)
    expect(undone).toMatchObject({ code: 0, stdout: 'removed log.txt\nremoved made.txt\n' })
    expect(undone.stderr).toContain(says)
  })

  it('is not mistaken for another folder: that is an error, and nothing happens', async () => {
    const { at, id, move, path } = await world()
    move()
    for (const command of ['resume', 'undo']) {
      const { code, stderr } = await at('other', command, id)
      expect([code, stderr]).toEqual([
        2,
        `error: run ${id} was recorded in ${path('project')}, which no longer exists, and ${path('other')} has no agents/a.lua\nhint: Start the command in the folder to which the project was moved (-C FOLDER).\n`,
      ])
    }
    expect(readdirSync(path('other'))).toEqual(['x'])
  })
})

it('a run of another workspace is found by its id, and changes the files of that workspace', async () => {
  const { at, id, path } = await world()
  writeFileSync(path('project/needed.txt'), 'there')
  mkdirSync(path('other/project'))
  expect(await at('other', 'resume', id)).toMatchObject({
    code: 0,
    stdout: `at ${path('project')}: there\n`,
    stderr: expect.stringContaining(`run ${id} belongs to ${path('project')}\n`),
  })
  expect(await at('other', 'undo', id, path('project/log.txt'))).toMatchObject({ code: 0 })
  expect(readdirSync(path('project'))).not.toContain('log.txt')
  expect(await at('other', 'undo', 'last')).toMatchObject({ code: 2 })
})
