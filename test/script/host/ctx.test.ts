import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import { agentWorld, aip, type AgentWorld } from '../../helpers/agents.ts'
import { withScope } from '../../../src/event/context.ts'

const all = 'local copy = {} for k, v in pairs(CTX) do copy[k] = v end return copy'

/** What a script sees as `CTX`. */
async function ctx(
  name: string,
  files: { readonly [path: string]: string },
): Promise<{ ctx: JsonObject; world: AgentWorld }> {
  const world = agentWorld(files)
  const { outputs } = await world.run(name)
  return { ctx: outputs[0] as JsonObject, world }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/

describe('CTX', () => {
  it('contains the place of a script', async () => {
    const { ctx: seen, world } = await ctx('dir/my.agent', { 'dir/my.agent.aip': aip({ Output: all }) })
    const { folder } = world
    expect(seen).toEqual({
      PWD: folder,
      BATON_VERSION: '0.0.0',
      SESSION_UID: expect.stringMatching(/^00000000-0000-7/),
      TMP_DIR: join(folder, '.aipack/.session/test/tmp'),
      AIPACK_VERSION: '0.8.34',
      WORKSPACE_DIR: folder,
      WORKSPACE_AIPACK_DIR: join(folder, '.aipack'),
      BASE_AIPACK_DIR: join(folder, 'home/.aipack-base'),
      AGENT_NAME: 'dir/my.agent',
      AGENT_FILE_NAME: 'my.agent.aip',
      AGENT_FILE_PATH: join(folder, 'dir/my.agent.aip'),
      AGENT_FILE_DIR: join(folder, 'dir'),
      AGENT_FILE_STEM: 'my.agent',
      RUN_FLOW_REDO_COUNT: 0,
      RUN_UID: expect.stringMatching(uuid),
      RUN_NUM: 1,
      STAGE: 'Output',
      TASK_UID: expect.stringMatching(uuid),
      TASK_NUM: 1,
    })
  })

  it('contains stage and task, with an integer for redos in each', async () => {
    const show =
      'return { CTX.STAGE, math.type(CTX.RUN_FLOW_REDO_COUNT), tostring(CTX.TASK_NUM), tostring(CTX.TASK_UID) }'
    const world = agentWorld({
      'a.aip': aip({
        'Before All': show.replace('return', 'local b =') + ' return b',
        Data: show,
        Output: show.replace('return', 'local o =') + ' return { before_all, data, o }',
        'After All': show,
      }),
      'b.lua': show,
    })
    const { outputs, afterAll } = await world.run('a', ['x', 'y'])
    const [first, second] = outputs as readonly [readonly Json[][], readonly Json[][]]
    expect(first[0]).toEqual(['BeforeAll', 'integer', 'nil', 'nil'])
    expect(first[1]?.slice(0, 3)).toEqual(['Data', 'integer', '1'])
    expect(second[2]?.slice(0, 3)).toEqual(['Output', 'integer', '2'])
    expect(afterAll).toEqual(['AfterAll', 'integer', 'nil', 'nil'])
    expect(first[1]?.[3]).toBe(first[2]?.[3])
    expect(first[1]?.[3]).not.toBe(second[1]?.[3])
    const [chunk] = (await world.run('b')).outputs as readonly [readonly Json[]]
    expect(chunk.slice(0, 3)).toEqual(['Chunk', 'integer', '1'])
  })

  it('distinguishes runs of agents, and a child from its parent', async () => {
    const { ctx: seen } = await ctx('a', {
      'a.lua':
        'local b, c = aip.agent.run("b").outputs[1], aip.agent.run("b").outputs[1]\nreturn { uid = CTX.RUN_UID, num = CTX.RUN_NUM, b = b, c = c }',
      'b.lua': 'return { CTX.RUN_UID, CTX.RUN_NUM, CTX.PARENT_RUN_UID, CTX.RUN_FLOW_REDO_COUNT, CTX.AGENT_NAME }',
    })
    const { uid, num, b, c } = seen as { uid: string; num: number; b: Json[]; c: Json[] }
    expect({ num, b: b.slice(1), c: c.slice(1) }).toEqual({ num: 1, b: [2, uid, 0, 'b'], c: [3, uid, 0, 'b'] })
    expect(new Set([uid, b[0], c[0]]).size).toBe(3)
  })

  it('has the same names when the run is repeated', async () => {
    const files = { 'a.lua': 'return { CTX.RUN_UID, CTX.TASK_UID }' }
    expect((await agentWorld(files).run('a')).outputs).toEqual((await agentWorld(files).run('a')).outputs)
  })

  it('counts redos for the target of the run, not for its children', async () => {
    const world = agentWorld({
      'a.lua': 'return { CTX.RUN_FLOW_REDO_COUNT, aip.agent.run("b").outputs[1] }',
      'b.lua': 'return CTX.RUN_FLOW_REDO_COUNT',
    })
    const { context } = world
    const agent = {
      kind: 'lua',
      name: 'a',
      file: join(world.folder, 'a.lua'),
      text: 'return { CTX.RUN_FLOW_REDO_COUNT, aip.agent.run("b").outputs[1] }',
    } as const
    const result = await context.services.agents.run(
      { kind: 'script', agent, inputs: null, options: {} },
      withScope(context, { redoCount: 3 }),
    )
    expect(result).toMatchObject({ outputs: [[3, 0]] })
  })

  it('contains the pack of an agent that was named through it', async () => {
    const main = '.aipack/pack/custom/ns/p'
    const pack =
      'local copy = {} for k, v in pairs(CTX) do if k:find("^PACK_") or k:find("^AGENT_FILE") then copy[k] = v end end return copy'
    const files = { [`${main}/main.aip`]: aip({ Output: pack }), [`${main}/sub/x.aip`]: aip({ Output: pack }) }
    const { ctx: seen, world } = await ctx('ns@p', files)
    const dir = join(world.folder, main)
    const common = {
      PACK_NAMESPACE: 'ns',
      PACK_NAME: 'p',
      PACK_IDENTITY: 'ns@p',
      PACK_DIR: dir,
      PACK_WORKSPACE_SUPPORT_DIR: join(world.folder, '.aipack/support/pack/ns/p'),
      PACK_BASE_SUPPORT_DIR: join(world.folder, 'home/.aipack-base/support/pack/ns/p'),
    }
    expect(seen).toEqual({
      ...common,
      PACK_REF: 'ns@p',
      AGENT_FILE_NAME: 'main.aip',
      AGENT_FILE_PATH: join(dir, 'main.aip'),
      AGENT_FILE_DIR: dir,
      AGENT_FILE_STEM: 'main',
    })
    const sub = (await world.run('@p/sub/x')).outputs[0]
    expect(sub).toMatchObject({ ...common, PACK_REF: 'ns@p/sub/x', PACK_SUB_PATH: 'sub/x' })
    expect((await world.run(`${main}/main`)).outputs[0]).not.toHaveProperty('PACK_IDENTITY')
  })

  it('can be modified, invisibly for others', async () => {
    const { ctx: seen } = await ctx('a', {
      'a.aip': aip({
        Data: 'CTX.PWD = "x" CTX.MINE = 1 return CTX.PWD',
        Output: 'return { data = data, now = CTX.MINE or "gone" }',
      }),
    })
    expect(seen).toEqual({ data: 'x', now: 'gone' })
  })
})
