import { join } from 'node:path'
import type { JsonObject } from '../../base/json.ts'
import { fillFromFlags, type ValueProblem, variableFlags } from '../../config/input-variables.ts'
import { listRuns } from '../../history/run-list.ts'
import { builtInModes, pluginsHere } from '../../load/plugins-here.ts'
import { readsInputs, loadTarget } from '../../load/target.ts'
import { packageRoot } from '../../package-root.ts'
import { strategies } from '../../strategies/strategies.ts'
import { inputSchema } from '../input-schema.ts'
import type { FieldProblem } from '../refusal.ts'
import type { ServedWorkspace } from './served-workspace.ts'

/** What a prompt file or agent can be given when it is run. */
export interface RunForm {
  /** An agent can get inputs that are not text. */
  readonly kind: 'prompt' | 'agent'
  readonly file: string
  /** For people; null if the file has none. */
  readonly title: string | null
  readonly description: string | null
  /** Its variables, as JSON Schema of type object. */
  readonly variables: JsonObject
  /** Whether something reads inputs. */
  readonly takesInputs: boolean
  /** What the file and the config say; null: nothing. */
  readonly model: string | null
  readonly mode: string | null
  readonly max_cost: number | null
}

/** Reads and checks a file as a run does. @throws BatonError for every error that would prevent a run from starting */
export async function readRunForm(served: ServedWorkspace, file: string): Promise<RunForm> {
  const target = await loadTarget(optionsFor(served, file))
  const { settings } = target
  const shared = {
    kind: target.kind,
    file,
    model: served.shared.model ?? settings.model ?? null,
    mode: settings.mode ?? null,
    max_cost: settings.budget?.usd ?? null,
  }
  if (target.kind === 'agent')
    return { ...shared, title: null, description: null, variables: inputSchema([]), takesInputs: true }
  const { name, description } = target.spec.frontMatter
  return {
    ...shared,
    title: textOf(name),
    description: textOf(description),
    variables: inputSchema(target.spec.variables ?? []),
    takesInputs: readsInputs(target) || target.inputsAreMessages === true,
  }
}

/** Names that a run can be given: the models of the config and of the newest runs, and the modes. */
export async function readChoices({ cwd, env, home, shared, settings, runs, readIndex }: ServedWorkspace): Promise<{
  readonly models: readonly string[]
  readonly modes: readonly string[]
}> {
  const used: string[] = []
  for await (const { models } of listRuns(runs, {
    limit: mostRead,
    newest: mostRead,
    index: readIndex(),
    fits: ({ status }) => status === 'done',
  }))
    used.push(...models)
  const named = [shared.model, settings.model, ...Object.keys(settings.model_aliases)].filter(
    (name) => name !== undefined,
  )
  const plugins = await pluginsHere({ cwd, env, home, flags: { overrides: shared.overrides } }, () => undefined)
  const modes = [...builtInModes(), ...plugins.flatMap((plugin) => plugin.modes)].map(({ id }) => id)
  return { models: [...new Set([...named, 'normal', 'high', 'fast', ...used])], modes: [...new Set(modes)] }
}

/** Runs whose models are offered. */
const mostRead = 100

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null
}

/** What is wrong with the values for the variables of a file; empty if it cannot be read. */
export async function variableProblems(
  served: ServedWorkspace,
  file: string,
  given: JsonObject,
): Promise<readonly FieldProblem[]> {
  try {
    const target = await loadTarget(optionsFor(served, file))
    const variables = target.kind === 'prompt' ? (target.spec.variables ?? []) : []
    return fillFromFlags(variableFlags(given), variables).problems.map(fieldProblem)
  } catch {
    return []
  }
}

function fieldProblem(problem: ValueProblem): FieldProblem {
  switch (problem.kind) {
    case 'missing':
      return { field: `vars.${problem.variable.name}`, message: 'is required' }
    case 'unknown':
      return { field: `vars.${problem.name}`, message: 'is not a variable of this file' }
    case 'wrong':
      return { field: `vars.${problem.name}`, message: `must be ${problem.expected}` }
  }
}

function optionsFor({ cwd, env, home, shared }: ServedWorkspace, file: string): Parameters<typeof loadTarget>[0] {
  const { overrides, model } = shared
  const builtInDir = join(packageRoot(), 'agents')
  return { file, cwd, env, home, builtInDir, strategies, flags: { overrides, ...(model !== undefined && { model }) } }
}
