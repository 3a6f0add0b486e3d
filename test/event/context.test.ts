import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { AgentExecutor } from '../../src/event/agent.ts'
import { below, narrow, type RunContext, type RunScope, withScope, withServices } from '../../src/event/context.ts'
import { part, task } from '../../src/event/place.ts'
import { passesFilters } from '../../src/tool/tool-filter.ts'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { agentWorld, aip } from '../helpers/agents.ts'
import { testContext } from '../helpers/context.ts'
import { placeAt } from '../helpers/effects.ts'

/** The scope as another process would receive it. */
function sent(scope: RunScope): RunScope {
  return JSON.parse(JSON.stringify(scope)) as RunScope
}

const granted = {
  read: ['src/**'],
  write: [],
  hosts: ['a.example'],
  commands: [],
  env: ['HOME'],
  models: ['small'],
  mcp: [],
}
const pack = { identity: 'acme@lint', granted, ownFolders: ['/packs/lint'], keptFolders: [], executed: [], allow: [] }
const protect = { paths: ['/w/ask.md'], kind: 'answer', allow: ['.git'], whom: 'a model' } as const

describe('the scope of a run', () => {
  const whole = testContext({
    scope: {
      at: placeAt('redo/1/task/2/pre_task/0:a%2Fb.aip/data#3/agent/c.aip'),
      ancestors: [{ name: 'a', file: '/nowhere/a.aip', call: 'ff' }],
      options: { model: 'small', tags: [1, null, { deep: true }] },
      configOptions: { temperature: 0.5 },
      dry: 'res',
      facts: { runUid: 'u', runNum: 2, parentRunUid: 'p', taskNum: 1 },
    },
  })

  it.each<readonly [string, RunContext]>([
    ['a run', testContext()],
    ['a piece of it that knows all there is to know', whole],
    ['a child further down', below(whole, task(3), part('ask'))],
    [
      'a conversation of a child',
      withScope(whole, { at: placeAt('task/1/agent/post_task+0:write+output~2/turn/4/tool/0:read') }),
    ],
    ['a child that has given up rights', narrow(whole, { write: false, tools: { tools: ['read'] }, pack, protect })],
    [
      'a child of such a child',
      below(narrow(narrow(whole, { pack }), { tools: { tools: ['read', 'edit'] }, protect }), task(0)),
    ],
  ])('of %s is plain data that survives JSON', (_, { scope }) => {
    expect(sent(scope)).toStrictEqual(scope)
  })

  it('is plain data wherever agents run agents', async () => {
    const seen: RunScope[] = []
    const provider = createFakeProvider(() => ({ text: ['an answer'] }))
    const world = agentWorld(
      {
        'outer.aip': aip({
          Options: 'temperature = 0.5',
          Data: 'return aip.agent.run("inner.aip", { inputs = { "a", "b" }, options = { model = "small" } })',
        }),
        'inner.aip': `${aip({ Data: 'return aip.agent.run("ask.md", { input = input })' })}\n# Output\n\n\`\`\`lua\nreturn data\n\`\`\`\n`,
        'ask.md': '+++\nmodel = "fake::m"\n+++\nSay hello.\n',
      },
      { provider, overrides: ['model="fake::m"'] },
    )
    const { agents } = world.context.services
    const watched = {
      run: (request: never, context: RunContext) => {
        seen.push(context.scope)
        return agents.run(request, context)
      },
      open: (agent: never, context: RunContext) => {
        seen.push(context.scope)
        return agents.open(agent, context)
      },
    } as AgentExecutor
    const context = withServices(withScope(world.context, { at: placeAt('main') }), { agents: watched })
    const agent = { kind: 'aip', name: 'outer.aip', file: `${world.folder}/outer.aip` } as const
    const text = readFileSync(agent.file, 'utf8')
    await watched.run({ kind: 'script', agent: { ...agent, text }, inputs: null, options: {} }, context)
    expect(new Set(seen.map(({ ancestors }) => ancestors.length))).toEqual(new Set([0, 1, 2, 3]))
    for (const scope of seen) expect(sent(scope)).toStrictEqual(scope)
  })
})

describe('a child with fewer rights', () => {
  const context = testContext({ workspace: '/w' })

  it('never regains rights that were given up further up', () => {
    const few = narrow(context, { write: false, tools: { tools: ['read', 'g*'] } })
    const more = narrow(few, { write: true, tools: { tools: ['*'], disallowed_tools: ['glob'] } })
    expect(more.scope.rights).toMatchObject({ write: false })
    const { tools } = more.scope.rights
    expect(['read', 'glob', 'grep', 'bash'].filter((name) => passesFilters(name, tools))).toEqual(['read', 'grep'])
    expect(narrow(few, {}).scope.rights).toEqual(few.scope.rights)
    expect(context.scope.rights).toMatchObject({ write: true })
  })

  it('is checked against the remaining permissions, and so are its effects', () => {
    const held = narrow(narrow(context, { protect }), { pack })
    const write = { kind: 'write', path: '/w/ask.md', named: '/w/ask.md' } as const
    const model = { kind: 'model', model: 'large', label: 'x::large' } as const
    expect(context.services.permission.check(model)).toEqual({ kind: 'allow' })
    expect(held.services.permission.check(write)).toMatchObject({ kind: 'deny' })
    expect(held.services.permission.check(model)).toMatchObject({ kind: 'deny', code: 'UNTRUSTED' })
    const record = { op: 'write', path: 'ask.md', before: null, after: 'ff' }
    const change =
      ({ services }: RunContext) =>
      () =>
        services.effects.changeFile(placeAt('a'), record, (allow) => {
          allow(write)
          return { record, act: () => undefined }
        })
    expect(change(held)).toThrow('ask.md')
    expect(change(context)()).toBe(true)
  })
})
