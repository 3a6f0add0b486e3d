import { join } from 'node:path'
import type { Plan, PromptPlan } from '../../src/plan/plan.ts'
import { planRun } from '../../src/plan/plan-run.ts'
import { builtInDir } from '../helpers/agents.ts'
import { tempTree } from '../helpers/temp.ts'
import { strategies as builtIn } from '../../src/strategies/strategies.ts'

export interface PlanCall {
  readonly file?: string
  readonly env?: Readonly<Record<string, string>>
  readonly inputs?: readonly string[]
  readonly overrides?: readonly string[]
  readonly model?: string
  readonly vars?: readonly string[]
  readonly strategies?: typeof builtIn
}

/** A folder with these files, in a separate workspace. */
export function workspaceOf(files: { readonly [path: string]: string }): string {
  return tempTree({ '.git/HEAD': 'x\n', ...files })
}

export async function planIn(folder: string, call: PlanCall = {}): Promise<Plan> {
  const { file = 'ask.md', env = {}, inputs = [], overrides = [], model, vars = [], strategies = builtIn } = call
  const { plan } = await planRun({
    strategies,
    cwd: folder,
    env: { BATON_HOME: join(folder, '.state'), ...env },
    home: folder,
    file,
    builtInDir,
    flags: { overrides, vars, ...(model === undefined ? {} : { model }) },
    inputs: { texts: inputs, globs: [], cwd: folder },
    signal: new AbortController().signal,
  })
  return plan
}

export async function planPromptIn(folder: string, call?: PlanCall): Promise<Plan & { readonly target: PromptPlan }> {
  const plan = await planIn(folder, call)
  if (plan.target.kind !== 'prompt') throw new Error('a prompt file')
  return { ...plan, target: plan.target }
}
