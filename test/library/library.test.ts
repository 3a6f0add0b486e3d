import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  approve,
  type ApprovalRequest,
  isBatonError,
  reject,
  resume,
  run,
  type RunEvent,
  type RunOptions,
  watch,
} from '../../src/index.ts'
import { type ModelReply, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

interface World {
  readonly folder: string
  readonly place: Required<Pick<RunOptions, 'cwd' | 'env' | 'home'>>
}

function world(files: { readonly [path: string]: string }, env: RunOptions['env'] = {}): World {
  const folder = tempTree({ '.git/HEAD': 'x\n', ...files })
  const home = tempTree()
  return { folder, place: { cwd: folder, home, env: { BATON_HOME: home, BATON_LOCAL_SERVERS: 'off', ...env } } }
}

const answering = { 'ask.md': '+++\nagent = "a.lua"\n+++\nHi\n', 'a.lua': 'return "answer of " .. input.instruction' }

async function typesOf(events: AsyncIterable<RunEvent>): Promise<readonly string[]> {
  const types: string[] = []
  for await (const { type } of events) types.push(type)
  return types
}

describe('approvals', () => {
  const steps = { todos: [{ content: 'Look', status: 'pending' }] }
  const asking = async (...replies: readonly ModelReply[]) => {
    const model = await startToolModel(replies)
    const home = tempTree({ 'config/config.toml': '[permission]\ntodo = "ask"\n' })
    const files = { 'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nHi\n' }
    const { place } = world(files, { BATON_GATEWAY_URL: model.url, BATON_HOME: home })
    return { model, place }
  }

  it('are given by the program: it receives the call, and the model is told why a call was denied', async () => {
    const { model, place } = await asking(callsTools(['todo', steps]), { text: 'Then not.' })
    const asked: ApprovalRequest[] = []
    const { exitCode } = await run('ask.md', {
      ...place,
      approve(request) {
        asked.push(request)
        return { deny: 'think first' }
      },
    }).result
    expect([exitCode, model.results()]).toEqual([0, ['Error: rejected by the user: think first']])
    expect(asked).toMatchObject([{ id: '1', tool: 'todo', input: steps, agent: 'task/0/ask' }])
  })

  it('wait at the request of the program, are recorded by approve and reject, and apply when the run is resumed', async () => {
    const replies = [callsTools(['todo', steps]), callsTools(['todo', { todos: [] }]), { text: 'Done.' }]
    const { model, place } = await asking(...replies)
    const waits = await run('ask.md', { ...place, approve: () => 'suspend' }).result
    expect(waits).toMatchObject({ stopReason: 'waiting_for_approval', approvals: [{ id: '1', tool: 'todo' }] })
    expect(await approve('last', place)).toMatchObject({ decided: [{ id: '1', input: steps }], open: [] })
    await expect(reject('last', { ...place, call: '1' })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('is already decided: approved'),
    })
    await expect(approve('last', { ...place, cal: '1' } as object)).rejects.toMatchObject({
      hint: 'Did you mean "call"?',
    })
    // the second call is a different one, and nobody can be asked
    expect(await resume('last', place).result).toMatchObject({ exitCode: 0 })
    expect(model.requests.length).toBe(3)
    expect(model.results()).toEqual(['Error: permission denied; to allow it set [permission] todo = "allow"'])
  })
})

describe('events', () => {
  it('are received by several loops at once, each with all events in order', async () => {
    const { place } = world(answering)
    const ask = run('ask.md', place)
    const [one, other, { exitCode }] = await Promise.all([typesOf(ask), typesOf(ask), ask.result])
    expect(exitCode).toBe(0)
    expect(one).toEqual(other)
    expect([one[0], one.at(-1)]).toEqual(['run.started', 'run.completed'])
  })

  it('are kept until a loop begins, and a loop that begins after others gets the remaining events', async () => {
    const { place } = world(answering)
    const ask = run('ask.md', place)
    await ask.result
    expect(await typesOf(ask)).toContain('answer')
    expect(await typesOf(ask)).toEqual([])
  })

  it('continue for one loop after another one was left', async () => {
    const { place } = world(answering)
    const ask = run('ask.md', place)
    const left = (async () => {
      for await (const { type } of ask) return type
      return undefined
    })()
    const all = typesOf(ask)
    expect(await left).toBe('run.started')
    expect((await all).at(-1)).toBe('run.completed')
  })
})

describe('the options of a run', () => {
  it('accept variables as values, an input for each task, and the prompt itself', async () => {
    const { place } = world({
      'ask.md':
        '+++\nagent = "a.lua"\n[input.names]\ntype = "list"\n[input.what]\n+++\n{{input.names.[1]}}: {{input.what}}\n',
      'a.lua': 'return input.instruction',
    })
    const asked = await run('ask.md', { ...place, vars: { names: ['a', 'b'], what: 'x = 1' } }).result
    expect(asked.tasks).toMatchObject([{ status: 'done', content: 'b: x = 1' }])

    const text = '+++\nagent = "a.lua"\n+++\nSay it\n'
    const { tasks } = await run('note', { ...place, text, inputs: ['one', 'two'] }).result
    expect(tasks.map((task) => task.status)).toEqual(['done', 'done'])
  })

  it('accept a schema as an object: the report has the value', async () => {
    await using server = await openServer('{"count": 3}')
    const { place } = world({ 'ask.md': 'Count.\n' }, { BATON_GATEWAY_URL: server.url })
    const outputSchema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] }
    const { tasks } = await run('ask.md', { ...place, model: 'any-model', outputSchema }).result
    expect(tasks).toMatchObject([{ value: { count: 3 } }])
    const bad = await run('ask.md', { ...place, outputSchema: { type: 'strin' } }).result
    expect(bad.error).toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('accept a budget as an object', async () => {
    await using server = await openServer('yes')
    const files = { 'ask.md': '+++\ntemplate = true\n+++\nCount {{input}}.\n' }
    const { place } = world(files, { BATON_GATEWAY_URL: server.url })
    const options = { ...place, model: 'any-model', inputs: ['a', 'b', 'c'], budget: { calls: 1 } }
    const { exitCode, stopReason } = await run('ask.md', options).result
    expect({ exitCode, stopReason }).toEqual({ exitCode: 4, stopReason: 'budget' })
  })

  it('accept a time limit, also for a resumed run', async () => {
    let isSlow = true
    const server = await startModelServer(() => ({ text: 'yes', ...(isSlow ? { stallAfter: 0 } : {}) }))
    onTestFinished(() => server.close())
    const { place } = world({ 'ask.md': 'Count.\n' }, { BATON_GATEWAY_URL: server.url })
    const { exitCode, error, runId } = await run('ask.md', { ...place, model: 'any-model', timeout: '100ms' }).result
    expect([exitCode, error]).toMatchObject([
      4,
      { code: 'LIMIT', message: expect.stringMatching(/timeout, 100 ?ms/) as string },
    ])
    expect(await resume(runId, { ...place, timeout: '100ms' }).result).toMatchObject({ exitCode: 4 })
    isSlow = false
    expect(await resume(runId, { ...place, timeout: '1h' }).result).toMatchObject({ exitCode: 0 })
  })

  it('accept a dry run that shows file changes without making them', async () => {
    const text = '<FILE_CHANGES>\n<FILE_NEW file_path="new.txt">\nhi\n</FILE_NEW>\n</FILE_CHANGES>\n'
    await using server = await openServer(text)
    const { place, folder } = world(
      { 'ask.md': '+++\nwrite_mode = true\n+++\nGo.\n' },
      { BATON_GATEWAY_URL: server.url },
    )
    const { tasks } = await run('ask.md', { ...place, model: 'any-model', dry: 'changes' }).result
    expect(tasks).toMatchObject([{ content: expect.stringContaining('+++ b/new.txt') as string }])
    expect(existsSync(join(folder, 'new.txt'))).toBe(false)
  })

  it.each([
    [{ modle: 'x' }, 'run(): there is no option "modle"', 'Did you mean "model"?'],
    [{ onMessage: () => {} }, 'run(): there is no option "onMessage"', /^Its options: cwd, env/],
    [{ vars: ['a=1'] }, 'run(): the option "vars" must be an object of values by name', /library/],
    [{ budget: 1 }, 'run(): the option "budget" must be an object of limits, for example { usd: 0.5 }', /library/],
    [{ dry: 'all' }, 'run(): the option "dry" must be "req", "res" or "changes"', /library/],
    [{ timeout: 30 }, 'run(): the option "timeout" must be a duration above zero such as "30s" or "10m"', /library/],
    [{ timeout: '0s' }, 'run(): the option "timeout" must be a duration above zero such as "30s" or "10m"', /library/],
    [{ signal: {} }, 'run(): the option "signal" must be an AbortSignal', /library/],
    ['x', 'run(): the options must be an object', /library/],
  ])('are refused with a typed error before anything begins: %j', (options, message, hint) => {
    const error = thrownBy(() => run('ask.md', options as RunOptions))
    expect(isBatonError(error)).toBe(true)
    expect(error).toMatchObject({ code: 'USAGE', message, hint: expect.stringMatching(hint) as string })
  })

  it('are checked by every function, as is the file', () => {
    expect(thrownBy(() => run(undefined as unknown as string))).toMatchObject({ code: 'USAGE' })
    expect(thrownBy(() => resume('last', { form: 'x' } as object))).toMatchObject({ hint: 'Did you mean "from"?' })
    expect(thrownBy(() => watch('a.md', { onMessage: 1 } as object))).toMatchObject({ code: 'USAGE' })
  })

  it('lead to an error in the report if the file is invalid', async () => {
    const { place } = world({})
    expect(await run('none.md', place).result).toMatchObject({ exitCode: 2, error: { code: 'FILE_UNREADABLE' } })
  })
})

describe('results', () => {
  it.each([
    ['a prompt file', 'ask.md', { tasks: [{ content: 'answer of Hi' }], outputs: [] }],
    ['a Lua agent', 'plain.lua', { tasks: [], outputs: [{ a: [1, 'x'] }] }],
    ['an .aip agent', 'plain.aip', { tasks: [], outputs: ['in'] }],
    ['a file with nothing to do', 'empty.md', { stopReason: 'skipped', tasks: [] }],
  ])('of %s', async (_, file, expected) => {
    const { place } = world({
      ...answering,
      'plain.lua': 'return { a = { 1, "x" } }',
      'plain.aip': '# Output\n\n```lua\nreturn input\n```\n',
      'empty.md': '+++\n+++\n',
    })
    const inputs = file === 'plain.aip' ? ['in'] : []
    expect(await run(file, { ...place, inputs }).result).toMatchObject({ exitCode: 0, ...expected })
  })
})

describe('abort', () => {
  it.each(['abort()', 'a signal'])('by %s stops the run, and resume continues it', async (way) => {
    let open = (): void => {}
    await using server = await openServer('late', new Promise((resolve) => (open = resolve)))
    const { place } = world({ 'ask.md': 'Wait.\n' }, { BATON_GATEWAY_URL: server.url })
    const stop = new AbortController()
    const ask = run('ask.md', { ...place, model: 'any-model', signal: stop.signal })
    for await (const { type } of ask) {
      if (type !== 'item.started') continue
      if (way === 'abort()') ask.abort()
      else stop.abort()
    }
    const { exitCode, stopReason, runId } = await ask.result
    expect({ exitCode, stopReason }).toEqual({ exitCode: 130, stopReason: 'cancelled' })

    open()
    const again = await resume(runId.slice(0, -2), place).result
    expect(again).toMatchObject({ exitCode: 0, runId, tasks: [{ content: 'late' }] })
  })

  it('leaves nothing to resume after the run has succeeded: result and loops reject with the same error', async () => {
    const { place } = world(answering)
    await run('ask.md', place).result
    const none = resume('last', place)
    await expect(typesOf(none)).rejects.toMatchObject({ code: 'USAGE' })
    await expect(none.result).rejects.toMatchObject({ code: 'USAGE' })
  })
})

describe('watch', () => {
  it('yields each run when it begins, with its cause, until the loop is left', async () => {
    const { folder, place } = world({ ...answering, 'a.lua': 'return "one"' })
    const messages: string[] = []
    const session = watch('ask.md', { ...place, onMessage: ({ kind }) => messages.push(kind) })
    const seen: unknown[] = []
    for await (const { cause, changed, run: one } of session) {
      const { tasks } = await one.result
      seen.push([
        cause,
        changed.map((path) => path.slice(folder.length + 1)),
        tasks.map((task) => task.status === 'done' && task.content),
      ])
      if (seen.length === 1) writeFileSync(join(folder, 'a.lua'), 'return "two"')
      if (seen.length === 2) session.rerun()
      if (seen.length === 3) break
    }
    expect(seen).toEqual([
      ['first', [], ['one']],
      ['changed', ['a.lua'], ['two']],
      ['requested', [], ['two']],
    ])
    expect(messages).toContain('waiting')
  })

  it('ends its loop when it is stopped, and when no change could help', async () => {
    const { place } = world(answering)
    const session = watch('ask.md', place)
    for await (const { run: one } of session) void one.result.then(() => session.stop())

    let runs = 0
    for await (const { run: one } of watch('ask.md', { ...place, inputs: ['a'], onFiles: ['b'] })) {
      runs += 1
      expect((await one.result).exitCode).toBe(2)
    }
    expect(runs).toBe(1)
  })
})

function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

async function openServer(text: string, gate?: Promise<void>) {
  const server = await startModelServer(() => ({ text, ...(gate && { gate }) }))
  return { url: server.url, [Symbol.asyncDispose]: () => server.close() }
}
