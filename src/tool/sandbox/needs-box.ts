import type { BatonError } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { strictestSandbox } from '../../event/sandbox-rights.ts'
import type { RunSources } from '../../event/sources.ts'
import { chosenTools, type ToolScope } from '../toolbox/chosen.ts'
import { comesWith, type ToolName } from '../toolbox/names.ts'
import type { Machine } from './probe.ts'

/** Tools that run programs which a model chooses, and what comes with them. */
function needsBox(tool: ToolName): boolean {
  return tool === 'bash' || comesWith(tool) === 'bash'
}

/** What is said of a sandbox that is missing. */
export type MissingBox = Pick<BatonError, 'message' | 'hint'>

/** Whose programs would run in it, and with which rights. */
interface Asking {
  readonly scope: ToolScope
  readonly env: Machine['env']
}

/**
 * What a run says where these settings give a model tools that need a sandbox, and none can be made: the error that it ends with, or
 * the warning. Undefined: nothing is missing.
 */
export async function missingBox(named: ToolFilter, { scope, env }: Asking): Promise<MissingBox | undefined> {
  const tools = chosenTools(named, { scope })
  if (!tools.some(needsBox)) return undefined
  const problem = await boxProblem({ scope, env })
  return problem === undefined || isInsisted(tools, named) ? problem : leftOut(problem)
}

/**
 * Of the tools that a model is to be given, those that can be used here: where no sandbox can be made, tools that only a pattern
 * names are left out, and the run says so once. A plan, which may be made for another machine, only says so.
 * @throws BatonError SANDBOX for a tool that is named by itself
 */
export async function boxableTools(
  tools: readonly ToolName[],
  named: ToolFilter,
  context: RunContext,
): Promise<readonly ToolName[]> {
  if (!tools.some(needsBox)) return tools
  const problem = await boxProblem({ scope: context.scope, env: context.services.env })
  if (problem === undefined) return tools
  const { isPlan = false } = context.services
  const insisted = isInsisted(tools, named)
  if (insisted && !isPlan) throw problem
  tellOnce(insisted ? problem : leftOut(problem), context)
  return isPlan ? tools : tools.filter((tool) => !needsBox(tool))
}

/** @throws BatonError SANDBOX where commands of scripts are to run in a sandbox, and none can be made */
export async function refuseWithoutBox({ scope, services: { env } }: RunContext): Promise<void> {
  const problem = await boxProblem({ scope, env })
  if (problem !== undefined) throw problem
}

/** Why no sandbox can be made; undefined: it can, or none is needed. */
export async function boxProblem({ scope, env }: Asking): Promise<BatonError | undefined> {
  const { sandboxProblem } = await import('./probe.ts')
  const workspace = realPath(scope.folders.workspace)
  return sandboxProblem(scope.rights.sandbox ?? strictestSandbox, { env, workspace })
}

/** Whether one of them is named by itself, and not by a pattern. */
function isInsisted(tools: readonly ToolName[], { tools: named = [] }: ToolFilter): boolean {
  return tools.some((tool) => needsBox(tool) && named.includes(tool))
}

function leftOut({ message, hint }: BatonError): MissingBox {
  return { message: `no model is given bash: ${message}`, hint }
}

/** Runs that have been told; all parts of a run share their sources. */
const told = new WeakSet<RunSources>()

function tellOnce({ message, hint }: MissingBox, context: RunContext): void {
  const { sources } = context.services
  if (told.has(sources)) return
  told.add(sources)
  emit(context, { type: 'warning', message, ...defined({ hint }) })
}
