import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decorate } from '../../../src/event/effects.ts'
import { createOverlay } from '../../../src/tool/changes/change-space.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { Killed, resumedProcess } from '../../helpers/resumed-process.ts'
import { tempTree } from '../../helpers/temp.ts'
import { toolHost } from '../../helpers/tool-call.ts'
import { makeTree, readTree } from '../changes/tree.ts'

const approving = [{ tool: 'exit_plan', effect: 'allow', origin: 'test' }] as const
const tree = { 'src/a.js': 'const a = 1\n' }
const edit = { path: 'src/a.js', old_text: 'a = 1', new_text: 'a = 2' }

describe('plan mode', () => {
  it('allows reading and the plan, until the plan is approved (R137)', async () => {
    const folder = tempTree(tree)
    const { call, box } = toolHost(folder, { rules: approving })
    expect((await call('enter_plan', {})).text).toMatch(/^Plan mode is on\..* write the plan to plan\.md\./)
    expect(await call('edit', edit)).toEqual({
      isError: true,
      text: 'plan mode is on: you may read, and write the plan to plan.md. Call exit_plan when the plan is ready; then you may change other files.',
    })
    expect((await call('write', { path: 'src/b.js', content: '' })).isError).toBe(true)
    expect((await call('read', { path: 'src/a.js' })).text).toContain('const a = 1')
    expect((await call('todo', { todos: [] })).isError).toBeUndefined()
    expect((await call('enter_plan', { path: 'other.md' })).text).toContain('plan mode is already on')
    expect((await call('exit_plan', {})).text).toBe('there is no plan yet: write it to plan.md first')
    expect((await call('write', { path: 'plan.md', content: '# Plan\n' })).isError).toBeUndefined()
    const change = { path: 'plan.md', old_text: '# Plan\n', new_text: '# Plan\n\n- a is 2\n' }
    expect((await call('edit', change)).isError).toBeUndefined()
    expect((await call('exit_plan', {})).text).toContain('The plan in plan.md is approved')
    expect((await call('edit', edit)).isError).toBeUndefined()
    expect((await call('exit_plan', {})).text).toContain('plan mode is off')
    expect(readTree(folder)).toEqual({ 'src/a.js': 'const a = 2\n', 'plan.md': '# Plan\n\n- a is 2\n' })
    expect(box.work.changes().map(({ file_path: path }) => path)).toEqual(['plan.md', 'plan.md', 'src/a.js'])
  })

  it('has its plan in a Markdown file that the model may write', async () => {
    const folder = tempTree({ ...tree, 'notes.md': 'mine\n', 'run.md': '+++\nmodel = "m"\n+++\nDo it.\n' })
    const { call } = toolHost(folder)
    const refused = async (path: string): Promise<string> => {
      const { text, isError } = await call('enter_plan', { path })
      return isError === true ? text : expect.unreachable(text)
    }
    expect(await refused('plan.js')).toContain('does not end in .md')
    expect(await refused('../plan.md')).toContain('enter_plan."/**" = "deny"')
    expect(await refused('.git/plan.md')).toContain('.git')
    expect(await refused('.github/workflows/plan.md')).toContain('protected')
    expect(await refused('run.md')).toContain('protected')
    // its content would be lost
    expect(await refused('notes.md')).toContain('you have not seen it')
    expect((await call('enter_plan', { path: 'docs/plan.md' })).isError).toBeUndefined()
  })

  it('shows the plan of a dry run, also in a folder behind a link', async () => {
    const folder = tempTree(tree)
    const link = join(tempTree({}), 'link')
    symlinkSync(folder, link)
    const dry = { scope: { dry: 'changes' }, services: { planned: createOverlay() } } as const
    const { call, box } = toolHost(link, { ...dry, rules: approving })
    await call('enter_plan', {})
    await call('write', { path: 'plan.md', content: '# Plan\n' })
    // as a host may have recorded it
    box.plan.set(join(link, 'plan.md'))
    expect((await call('exit_plan', {})).text).toContain('The plan in plan.md is approved')
    expect(readTree(folder)).toEqual(tree)
  })

  it('ends only when a person approves the plan that they were shown', async () => {
    const folder = tempTree(tree)
    const { call, context } = toolHost(folder)
    await call('enter_plan', {})
    await call('write', { path: 'plan.md', content: '# Plan\n\n- first\n' })
    // nobody can be asked
    expect(await call('exit_plan', {})).toMatchObject({ isError: true, isDenied: true })
    expect((await call('edit', edit)).isError).toBe(true)
    const { effects } = context.services
    const shown: unknown[] = []
    const answers: readonly (() => void)[] = [
      () => writeFileSync(join(folder, 'plan.md'), '# Plan\n\n- by a person\n'),
      () => undefined,
    ]
    let asked = 0
    const permit: typeof effects.permit = async (_, action) => {
      shown.push(action.kind === 'tool' ? action.diff : undefined)
      answers[asked++]?.()
      return { action }
    }
    const answering = decorate(effects, (inner) => ({
      permit: (at, action) =>
        action.kind === 'tool' && action.tool === 'exit_plan' ? permit(at, action) : inner.permit(at, action),
    }))
    const services = { effects: answering }
    const asking = toolHost(folder, { process: context, services })
    await asking.call('enter_plan', { path: 'other.md' })
    asking.box.plan.set(join(folder, 'plan.md'))
    expect((await asking.call('exit_plan', {})).text).toContain('has changed since it was shown')
    expect((await asking.call('exit_plan', {})).text).toContain('approved')
    expect(shown).toEqual([
      expect.stringContaining('+# Plan\n+\n+- first\n'),
      expect.stringContaining('+# Plan\n+\n+- by a person\n'),
    ])
  })

  it('applies to calls after the one that begins it, but not to those before it', async () => {
    const folder = tempTree(tree)
    const { call } = toolHost(folder, { rules: approving })
    // failing calls load the tools: those of a conversation are loaded before its first turn
    for (const name of ['edit', 'enter_plan', 'exit_plan', 'write'] as const) await call(name, '{')
    const results = await Promise.all([
      call('edit', edit),
      call('enter_plan', {}),
      call('edit', { ...edit, old_text: 'a = 2', new_text: 'a = 3' }),
      call('write', { path: 'plan.md', content: '# Plan\n' }),
      call('exit_plan', {}),
      call('edit', { ...edit, old_text: 'const', new_text: 'let' }),
    ])
    expect(results.map(({ isError = false }) => isError)).toEqual([false, false, true, false, false, false])
    expect(readFileSync(join(folder, 'src/a.js'), 'utf8')).toBe('let a = 2\n')
  })

  it('is restored when a run is resumed', async () => {
    const calls = [
      ['enter_plan', {}],
      ['edit', edit],
      ['write', { path: 'plan.md', content: '# Plan\n' }],
      ['exit_plan', {}],
      ['edit', edit],
    ] as const
    const run = async (
      root: string,
      records: JournalRecord[],
      lives = Infinity,
    ): Promise<readonly string[] | 'killed'> => {
      const { context } = await resumedProcess(root, records, { lives })
      const { call } = toolHost(root, { process: context, rules: approving })
      const texts: string[] = []
      try {
        for (const [name, input] of calls) texts.push((await call(name, input)).text)
        return texts
      } catch (error) {
        if (error instanceof Killed) return 'killed'
        throw error
      }
    }
    const whole = await run(makeTree(tree), [])
    for (let lives = 1; ; lives += 1) {
      const root = makeTree(tree)
      const records: JournalRecord[] = []
      if ((await run(root, records, lives)) !== 'killed') break
      expect(await run(root, records)).toEqual(whole)
      expect(readTree(root)).toEqual({ 'src/a.js': 'const a = 2\n', 'plan.md': '# Plan\n' })
    }
  })
})
