import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeModule } from '../../../src/script/host/code.ts'
import type { Effects } from '../../../src/event/effects.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import { allRights } from '../../../src/event/permission.ts'
import { toolRules } from '../../../src/tool/rule-list.ts'
import type { TestContext } from '../../helpers/context.ts'
import { resumedProcess } from '../../helpers/resumed-process.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { tempTree } from '../../helpers/temp.ts'
import { callFunction, hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const workspace = tempTree({ 'a.txt': 'one\ntwo\n', 'b.txt': 'three\n' })

/** Calls under the default rules, in a process that may have a record. */
function ruled({ write = true, process }: { readonly write?: boolean; readonly process?: TestContext } = {}) {
  const { section, records } = hostSection(process?.scope.folders.workspace ?? workspace)
  const { scope, services } = process ?? section.context
  const rights = { ...allRights, write, rules: [toolRules()] }
  const permission = services.permissionOf(rights)
  const effects = services.effects.under(permission)
  const context = { scope: { ...scope, rights }, services: { ...services, permission, effects } }
  const run = async (...args: readonly LuaValue[]): Promise<LuaValue> =>
    (await callFunction({ module: codeModule, name: 'run' }, args, { ...section, context }))[0]
  return { run, records }
}

const { run } = ruled()

describe('aip.code.run', () => {
  it('returns the value of a program', async () => {
    expect(await run('1 + 2')).toBe(3)
    expect(await run('input.list.map((one: number) => one * 2)', { input: { list: [1, 2] } })).toEqual([2, 4])
    expect(await run('const x = 1')).toBe(null)
  })

  it('returns it to Lua, and errors with the line of the program', async () => {
    const code = `
      local sorted = aip.code.run("input.sort((a, b) => b - a)", { input = { 1, 3, 2 } })
      local ok, message = pcall(aip.code.run, "const a = 1\\nfoo(a)")
      return { sorted = sorted, ok = ok, message = tostring(message) }`
    expect(await runLua(hostSection(workspace), code)).toEqual({
      sorted: [3, 2, 1],
      ok: false,
      message: expect.stringContaining("aip.code.run: 'foo' is not defined (line 2, column 1 of the program)"),
    })
  })

  it('calls the tools it names, each recorded below the call', async () => {
    const host = ruled()
    const program = `const found = grep({ pattern: 'two' })
      const [a, b] = parallel([{ tool: 'read', input: { path: 'a.txt' } }, { tool: 'read', input: { path: 'no.txt' } }])
      const failed = (() => { try { return read({}) } catch (error) { return error.message } })()
      return [found.includes('a.txt'), a.includes('two'), b.error, failed, typeof glob]`
    const value = (await host.run(program, { tools: ['read', 'grep'] })) as readonly string[]
    expect(value.slice(0, 2)).toEqual([true, true])
    expect(value[2]).toMatch(/^Tool "read" failed: .*no\.txt/)
    expect(value[3]).toMatch(/^Tool "read" failed: the arguments do not fit its schema/)
    expect(value[4]).toBe('undefined')
    const called = host.records.flatMap((record) => (record.k === 'call' ? [record.p] : []))
    expect(called.toSorted()).toEqual(['call/tool/0:grep', 'call/tool/1:read', 'call/tool/2:read'])
  })

  it('is restricted to the rights of the agent', async () => {
    await expect(run('1', { tools: ['nothing'] })).rejects.toThrow('there is no tool "nothing"; the tools are:')
    const reading = ruled({ write: false })
    await expect(reading.run('1', { tools: ['write'] })).rejects.toThrow('the tool "write" may not be used here')
    expect(await reading.run('[typeof write, typeof read]', { tools: ['*'] })).toEqual(['undefined', 'function'])
  })

  it('repeats no call when it was killed at any record, and has the same result', async () => {
    const program = `const made = [Math.random(), Math.random()]
      parallel([{ tool: 'write', input: { path: 'time.txt', content: String(Date.now()) } }, { tool: 'read', input: { path: 'a.txt' } }])
      made.forEach((text, index) => write({ path: index + '.txt', content: String(text) }))
      made.concat(Date.now()).map(String)`
    let killed = 0
    for (let lives = 0, isWhole = false; !isWhole; lives += 1) {
      const folder = tempTree({ 'a.txt': 'one' })
      const records: JournalRecord[] = []
      const live = async (most: number): Promise<LuaValue> => {
        const { context, uncertain } = await resumedProcess(folder, records, { lives: most })
        expect(uncertain).toEqual([])
        return ruled({ process: context }).run(program, { tools: ['write', 'read'] })
      }
      const first = await live(lives).catch(() => 'killed')
      isWhole = first !== 'killed'
      if (!isWhole) killed += 1
      const value = isWhole ? first : await live(Infinity)
      const files = ['0.txt', '1.txt', 'time.txt'].map((name) => readFileSync(join(folder, name), 'utf8'))
      expect(value, `killed after ${lives} records`).toEqual(files)
    }
    expect(killed).toBeGreaterThan(8)
  })

  it('sees the same time after each call when it is run again', async () => {
    const folder = tempTree({ 'a.txt': 'one' })
    const records: JournalRecord[] = []
    let hour = 0
    const live = async (before: JournalRecord[]): Promise<LuaValue> => {
      const { context } = await resumedProcess(folder, before)
      const services = { ...context.services, now: () => new Date((hour += 1) * 3_600_000) }
      const program = `[Date.now(), read({ path: 'a.txt' }), Date.now()].filter(Number).map((one) => one / 3600000)`
      return ruled({ process: { ...context, services } }).run(program, { tools: ['read'] })
    }
    expect(await live(records)).toEqual([1, 2])
    expect(await live(records)).toEqual([1, 2])
    expect(hour).toBe(2)
  })

  it('diverges if it requests another tool than before', async () => {
    const folder = tempTree({ 'a.txt': 'one' })
    const records: JournalRecord[] = []
    const live = async (before: JournalRecord[], call: string): Promise<LuaValue> => {
      const { context } = await resumedProcess(folder, before)
      return ruled({ process: context }).run(`${call}; 0`, { tools: ['read', 'glob'] })
    }
    await live(records, `read({ path: 'a.txt' })`)
    const unfinished = records.filter((one) => one.k !== 'call')
    await expect(live(unfinished, `glob({ pattern: '*' })`)).rejects.toMatchObject({ code: 'DIVERGED' })
  })

  it('ends when its calls have ended, also when it is stopped', async () => {
    const { section } = hostSection(workspace)
    const { scope, services } = section.context
    const controller = new AbortController()
    const ends: string[] = []
    const effects: Effects = {
      ...services.effects,
      async call(at, asked, work) {
        if (asked.name !== 'read') return services.effects.call(at, asked, work)
        controller.abort(new Error('stopped'))
        await new Promise((resolve) => setTimeout(resolve, 30))
        ends.push('read')
        return work()
      },
    }
    const context = { scope, services: { ...services, effects, signal: controller.signal } }
    const given = [`read({ path: 'a.txt' })`, { tools: ['read'] }]
    const run = callFunction({ module: codeModule, name: 'run' }, given, { ...section, context })
    await expect(run).rejects.toThrow('stopped')
    expect(ends).toEqual(['read'])
  })

  it('is ended at its time limit', async () => {
    await expect(run('for (;;) {}', { timeout_ms: 100 })).rejects.toThrow(
      'aip.code.run: the program took longer than 100 ms of its own time',
    )
  })
})
