import { join } from 'node:path'
import { createAgentExecutor } from '../../src/agent/executor.ts'
import { requestFor } from '../../src/agent/agent-call.ts'
import { callPromptInput } from '../../src/agent/prompt-input.ts'
import { defined, type Json, type JsonObject } from '../../src/base/json.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createPool } from '../../src/base/concurrency.ts'
import type { PromptResult, ScriptResult } from '../../src/event/agent.ts'
import { createCoolDown } from '../../src/model/cool-down.ts'
import { loadPrices } from '../../src/model/prices.ts'
import { defaultRetryPolicy } from '../../src/base/retry.ts'
import { createFakeProvider, type FakeProvider } from './fake-model.ts'
import { resolveAgent } from '../../src/pack/resolve.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import type { PromptTarget } from '../../src/load/prompt-target.ts'
import { loadTarget } from '../../src/load/target.ts'
import { createPromptRunner } from '../../src/run/child-run.ts'
import { createScriptLoader } from '../../src/agent/script-loader.ts'
import { testContext, type TestContext } from './context.ts'
import { placeAt } from './effects.ts'
import { tempTree } from './temp.ts'
import { nothingSpent, type Spent } from '../../src/event/meter.ts'

/** Limits without any config. */
const defaultLua = {
  engine: 'lua54',
  isolated: 'installed',
  timeout_ms: 60_000,
  memory_mb: 256,
  instructions: 1e12,
} as const

export const builtInDir = join(import.meta.dirname, '../../agents')

const scripts = {
  lua54: createScriptLoader(defaultLua),
  fengari: createScriptLoader({ ...defaultLua, engine: 'fengari' }),
}

/** What an agent returned, whatever its kind and end. */
export interface AgentEnd {
  readonly spent: Spent
  readonly end: (ScriptResult | PromptResult)['end']
  readonly outputs: readonly Json[]
  readonly failedInputs: number
  readonly afterAll: Json | undefined
  /** Only for prompt files. */
  readonly text: string
  /** Why it was skipped. */
  readonly reason: string | undefined
}

export interface AgentWorld {
  readonly folder: string
  readonly context: TestContext
  readonly run: (name: string, inputs?: readonly Json[] | null, options?: JsonObject) => Promise<AgentEnd>
}

export interface WorldOptions {
  readonly provider?: FakeProvider
  readonly engine?: keyof typeof scripts
  readonly signal?: AbortSignal
  /** How many model requests may run at the same time, over all agents. */
  readonly requestsAtOnce?: number
  /** `-c` of the run. */
  readonly overrides?: readonly string[]
}

/** A workspace with these files in which agents really run: the Lua engine, the host modules, a journal in memory. */
export function agentWorld(
  files: { readonly [path: string]: string },
  { provider, signal, engine = 'lua54', requestsAtOnce = 8, overrides = [] }: WorldOptions = {},
): AgentWorld {
  const folder = tempTree(files)
  const packRoots = [join(folder, '.aipack/pack/custom')]
  const agents = createAgentExecutor({
    agentRunsBefore: 0,
    scripts: scripts[engine],
    chooseModel: async (name) => ({
      provider: provider ?? createFakeProvider([]),
      model: name ?? 'fake',
      label: `fake::${name ?? 'fake'}`,
      priced: { provider: 'fake', baseUrl: undefined, model: name ?? 'fake', isFree: true },
    }),
    modelPool: createPool(requestsAtOnce),
    retry: { policy: defaultRetryPolicy, patienceMs: 0, outageMs: 0, clock: systemClock },
    coolDown: createCoolDown({ clock: systemClock }),
    prices: loadPrices,
    limitsCost: () => false,
    findAgent: async (name, baseDir) => resolveAgent(name, { baseDir, builtInDir, packRoots }),
    runPromptFile: createPromptRunner({
      cwd: folder,
      env: { BATON_HOME: join(folder, '.state') },
      home: folder,
      builtInDir,
      strategies,
      flags: { overrides },
    }),
  })
  const context = testContext({
    workspace: folder,
    agents,
    ...(signal === undefined ? {} : { signal }),
    scope: { folders: { workspace: folder, cwd: folder, packRoots, aipackBase: join(folder, 'home/.aipack-base') } },
  })
  return {
    folder,
    context,
    run: async (name, inputs = null, options = {}) => {
      const agent = resolveAgent(name, { baseDir: folder, builtInDir, packRoots })
      const at = { ...context, scope: { ...context.scope, at: placeAt('main') } }
      return endOf(await agents.run(requestFor({ agent, inputs, options }, callPromptInput), at))
    },
  }
}

export function endOf(result: ScriptResult | PromptResult): AgentEnd {
  return {
    end: result.end,
    outputs: result.end === 'skipped' ? [] : result.outputs,
    failedInputs: result.kind === 'script' && result.end !== 'skipped' ? result.failedInputs : 0,
    afterAll: result.kind === 'script' && result.end === 'done' ? result.afterAll : undefined,
    text: result.kind === 'prompt' && result.end === 'done' ? result.text : '',
    spent: result.kind === 'prompt' ? result.spent : nothingSpent,
    reason: result.end === 'skipped' ? result.reason : undefined,
  }
}

/** An `.aip` file with these Lua sections. */
export function aip(sections: { readonly [heading: string]: string }): string {
  return Object.entries(sections)
    .map(([heading, code]) => `# ${heading}\n\n\`\`\`${heading === 'Options' ? 'toml' : 'lua'}\n${code}\n\`\`\`\n`)
    .join('\n')
}

interface PromptFlags {
  readonly overrides?: readonly string[]
  readonly model?: string
  /** Besides the folder of the user's state. */
  readonly env?: Readonly<Record<string, string>>
}

/** Loads a prompt file of a folder, which is also the home of its user. */
export async function loadPromptFile(
  file: string,
  folder: string,
  { overrides = [], model, env = {} }: PromptFlags = {},
): Promise<PromptTarget> {
  const target = await loadTarget({
    strategies,
    file,
    cwd: folder,
    env: { BATON_HOME: join(folder, '.state'), ...env },
    home: folder,
    flags: { overrides, ...defined({ model }) },
    builtInDir,
  })
  if (target.kind !== 'prompt') throw new Error(`${file} is no prompt file`)
  return target
}
