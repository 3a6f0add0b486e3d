import { afterAll, describe, expect, it } from 'vitest'
import { createProgramState } from '../../../../src/agent/modes/code/built-ins.ts'
import { type ProgramRun, runModelProgram } from '../../../../src/agent/modes/code/program.ts'
import { createProgramWork } from '../../../../src/agent/program-work.ts'
import type { Json } from '../../../../src/base/json.ts'
import type { Tool, ToolResult } from '../../../../src/event/agent.ts'
import type { PluginFunction } from '../../../../src/event/plugin-tool.ts'
import type { JournalRecord } from '../../../../src/journal/record.ts'
import { createJavaScriptBox, type JavaScriptBox } from '../../../../src/script/javascript/box.ts'
import { defaultLimits } from '../../../../src/script/javascript/program.ts'
import { toolFunctions } from '../../../../src/script/javascript/tool-functions.ts'
import { createFakeProvider } from '../../../helpers/fake-model.ts'
import { sessionWorld } from '../../../helpers/session-world.ts'

const box = createJavaScriptBox()
afterAll(async () => box.close())

interface Running {
  readonly tools?: { readonly [name: string]: (signal: AbortSignal) => Promise<ToolResult> }
  readonly added?: readonly PluginFunction[]
  readonly before?: readonly JournalRecord[]
  readonly signal?: AbortSignal
  readonly in?: Pick<JavaScriptBox, 'run'>
}

interface Ended {
  readonly ran: Promise<ProgramRun>
  readonly outputs: readonly string[]
  readonly records: readonly JournalRecord[]
}

/** Runs a program in a process that may have the record of an earlier one. */
async function start(
  code: string,
  { tools: given = {}, added = [], before, signal, in: inner = box }: Running,
): Promise<Ended> {
  const own = signal ?? new AbortController().signal
  const provider = createFakeProvider([])
  const { context, records } = await sessionWorld({
    provider,
    signal: own,
    ...(before === undefined ? {} : { before }),
  })
  const tools = Object.entries(given).map(([name, work]): Tool => ({
    name,
    description: '',
    parameters: {},
    run: async (input, { scope, services }) =>
      services.effects.call(scope.at, { name, args: input }, async () => work(services.signal)),
  }))
  const work = createProgramWork({
    context,
    opener: context,
    id: 'p',
    name: 'code.execute',
    tools,
    isApproved: false,
  })
  const outputs: string[] = []
  const state = createProgramState()
  const host = { state, tools, onOutput: (text: string) => void outputs.push(text), onLog: () => undefined }
  const program = { code, tools: toolFunctions(tools), added, limits: defaultLimits, host }
  return { ran: runModelProgram(program, { box: { ...box, ...inner }, work, signal: own }), outputs, records }
}

const after = async (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const giving =
  (name: string, ms: number): (() => Promise<ToolResult>) =>
  async () => {
    await after(ms)
    return { text: name, files: [{ type: 'file', name, mediaType: 'image/png', data: 'AA==' }] }
  }

/** What is recorded about the program itself. */
function recordOf(records: readonly JournalRecord[]): Json {
  const [record] = records.filter((one) => one.k === 'call' && one.name === 'code.execute')
  return record?.k === 'call' && record.status === 'ok' ? ((record.value ?? null) as Json) : null
}

describe('a program of a model', () => {
  it('records the files of its calls in the order of the calls, now and in a resumed run', async () => {
    const code = `parallel([{ tool: 'slow' }, { tool: 'quick' }])`
    const tools = { slow: giving('slow', 40), quick: giving('quick', 0) }
    const first = await start(code, { tools })
    const { files } = await first.ran
    expect(files.map(({ name }) => name)).toEqual(['slow', 'quick'])
    const again = await start(code, {
      tools: { slow: giving('other', 0), quick: giving('other', 0) },
      before: first.records,
    })
    expect((await again.ran).files).toEqual(files)
    // a program that was killed before it ended
    const unfinished = first.records.filter((one) => one.k !== 'call' || one.name !== 'code.execute')
    const killed = await start(code, {
      tools: { slow: giving('other', 0), quick: giving('other', 0) },
      before: unfinished,
    })
    expect((await killed.ran).files).toEqual(files)
  })

  it('is recorded with only those calls that have consequences', async () => {
    const code = `store('k', 'v'); recall('k'); discoverTools(); toolSchema('quick'); quick({}); output(recall('k'))`
    const { ran, records, outputs } = await start(code, { tools: { quick: giving('quick', 0) } })
    await ran
    expect(recordOf(records)).toMatchObject({ calls: [{ name: 'store' }, { name: 'quick' }, { name: 'output' }] })
    const again = await start(code, { tools: { quick: giving('other', 0) }, before: records })
    expect([await again.ran, again.outputs]).toEqual([await ran, outputs])
  })

  it('ends when its calls have ended, also when it is stopped', async () => {
    const controller = new AbortController()
    const ends: string[] = []
    const slow = async (signal: AbortSignal): Promise<ToolResult> => {
      setTimeout(() => controller.abort(new Error('stopped')), 20)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      await after(30)
      ends.push('slow')
      return { text: 'done all the same' }
    }
    const { ran } = await start('slow({})', { tools: { slow }, signal: controller.signal })
    await expect(ran).rejects.toThrow('stopped')
    expect(ends).toEqual(['slow'])
  })

  it('does not wait for functions of plug-ins when it is stopped, and does not notify them', async () => {
    const controller = new AbortController()
    const run = async (): Promise<never> => {
      setTimeout(() => controller.abort(new Error('stopped')), 20)
      return new Promise(() => {})
    }
    const added = [{ name: 'never', description: '', run }]
    const { ran } = await start('never()', { added, signal: controller.signal })
    await expect(ran).rejects.toThrow('stopped')
  })

  it('ends with an error when the engine fails, and keeps its output, now and in a resumed run', async () => {
    const fails: Pick<JavaScriptBox, 'run'> = {
      async run(_, { call }) {
        await call({ name: 'output', index: 0, args: ['said'] })
        throw new Error('the JavaScript engine failed: it is gone')
      },
    }
    const first = await start('1', { in: fails })
    const ran = await first.ran
    expect(ran.end).toEqual({ kind: 'error', message: 'the JavaScript engine failed: it is gone' })
    const again = await start('1', { before: first.records })
    expect([await again.ran, again.outputs]).toEqual([ran, ['said']])
  })

  it('is told only once that a tool failed', async () => {
    const bad = async (): Promise<ToolResult> => ({ text: 'Error in tool "bad": no luck.', isError: true })
    const { ran } = await start('try { bad({}) } catch (error) { error.message }', { tools: { bad } })
    expect((await ran).end).toEqual({ kind: 'value', value: 'Tool "bad" failed: no luck.' })
  })
})
