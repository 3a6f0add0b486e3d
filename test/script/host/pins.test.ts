import { describe, expect, it } from 'vitest'
import type { SectionStage } from '../../../src/script/host/module.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

async function eventsOf(code: string, stage: SectionStage = 'data'): Promise<unknown[]> {
  const host = hostSection('/', { stage })
  await runLua(host, code)
  return host.events
}

async function messageOf(call: string, stage: SectionStage = 'data'): Promise<unknown> {
  return runLua(
    hostSection('/', { stage }),
    `local _, message = pcall(function() ${call} end) return tostring(message)`,
  )
}

describe('pins', () => {
  it('accept a name and content, a priority between them, and a label', async () => {
    const code = `
      aip.run.pin("a", "text ü")
      aip.run.pin("b", 2.5, "text")
      aip.task.pin("c", nil, { label = "Files:", content = "3" })
      aip.task.pin("d", -1, { content = 7 })
      aip.run.pin("e", 12)
      aip.run.pin("a", "")
    `
    expect(await eventsOf(code)).toEqual([
      { type: 'pin', scope: 'run', id: 'a', priority: null, label: 'Pin:', content: 'text ü' },
      { type: 'pin', scope: 'run', id: 'b', priority: 2.5, label: 'Pin:', content: 'text' },
      { type: 'pin', scope: 'task', id: 'c', priority: null, label: 'Files:', content: '3' },
      { type: 'pin', scope: 'task', id: 'd', priority: -1, label: 'Pin:', content: '7' },
      { type: 'pin', scope: 'run', id: 'e', priority: null, label: 'Pin:', content: '12' },
      { type: 'pin', scope: 'run', id: 'a', priority: null, label: 'Pin:', content: '' },
    ])
  })

  it.each([
    ['aip.run.pin(5, "x")', 'aip.run.pin: iden must be a string, but was number'],
    ['aip.run.pin(nil, "x")', 'iden must be a string, but was nil'],
    ['aip.run.pin("a")', 'takes (iden, content) or (iden, priority, content), but got 1 arguments'],
    ['aip.run.pin("a", 1, "x", "y")', 'but got 4 arguments'],
    ['aip.run.pin("a", "high", "x")', 'the priority must be a number, but was string'],
    ['aip.run.pin("a", nil)', 'the content must be a string, but was nil'],
    ['aip.run.set_label(nil)', 'aip.run.set_label: the label must be a string, but was nil'],
    ['aip.task.set_label({})', 'aip.task.set_label: the label must be a string, but was table'],
  ])('%s is refused', async (call, message) => {
    expect(await messageOf(call)).toContain(message)
  })

  it.each(['before_all', 'after_all'] as const)(
    'of a task are unavailable in %s, those of the run are available',
    async (stage) => {
      const hint = 'call aip.run.pin there'
      expect(await messageOf('aip.task.pin("a", "x")', stage)).toMatch(`aip.task.pin: there is no task in`)
      expect(await messageOf('aip.task.pin("a", "x")', stage)).toContain(hint)
      expect(await messageOf('aip.task.set_label("x")', stage)).toContain('call aip.run.set_label there')
      expect(await eventsOf('aip.run.pin("a", "x")', stage)).toHaveLength(1)
    },
  )

  it.each(['data', 'output', 'chunk'] as const)('of a task are available in %s', async (stage) => {
    expect(await eventsOf('aip.task.pin("a", "x") aip.task.set_label("l")', stage)).toMatchObject([
      { type: 'pin', scope: 'task' },
      { type: 'label', scope: 'task', label: 'l' },
    ])
  })

  it('label a run', async () => {
    expect(await eventsOf('aip.run.set_label("Fix ü")')).toEqual([{ type: 'label', scope: 'run', label: 'Fix ü' }])
  })
})
