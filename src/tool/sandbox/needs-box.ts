import type { BatonError } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { type Approver, type ContextWith, emitOnce, type Surroundings } from '../../event/context.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { strictestSandbox } from '../../event/sandbox-rights.ts'
import { chosenTools, type ToolScope } from '../toolbox/choose-tools.ts'
import { comesWith, type ToolName } from '../toolbox/rows.ts'
import type { BoxContext } from './boxed-command.ts'
import type { Machine } from './probe.ts'

/** True for tools that run programs chosen by a model, and the tools that come with them. */
function needsBox(tool: ToolName): boolean {
  return tool === 'bash' || comesWith(tool) === 'bash'
}

export type MissingBox = Pick<BatonError, 'message' | 'hint'>

/** Whose programs would run in it, and with which rights. */
interface BoxUser {
  readonly scope: ToolScope
  readonly env: Machine['env']
}

/**
 * What a run reports if these settings give a model tools that need a sandbox and none is available: its error, or a
 * warning. Undefined if nothing is missing.
 */
export async function missingBox(named: ToolFilter, { scope, env }: BoxUser): Promise<MissingBox | undefined> {
  const tools = chosenTools(named, { scope })
  if (!tools.some(needsBox)) return undefined
  const problem = await boxProblem({ scope, env })
  return problem === undefined || isInsisted(tools, named) ? problem : missingBash(problem)
}

/**
 * The tools, of those selected for a model, that can be used here. If no sandbox is available, tools that are selected
 * only by a pattern are removed, with one warning per run. A plan, which may be made for another machine, only warns.
 * @throws BatonError SANDBOX for a tool that is selected by its exact name
 */
export async function boxableTools(
  tools: readonly ToolName[],
  named: ToolFilter,
  context: BoxContext & { readonly services: Approver },
): Promise<readonly ToolName[]> {
  if (!tools.some(needsBox)) return tools
  const problem = await boxProblem({ scope: context.scope, env: context.services.env })
  if (problem === undefined) return tools
  const { isPlan = false } = context.services
  const insisted = isInsisted(tools, named)
  if (insisted && !isPlan) throw problem
  const { message, hint } = insisted ? problem : missingBash(problem)
  emitOnce(context, 'no sandbox', { type: 'warning', message, ...defined({ hint }) })
  return isPlan ? tools : tools.filter((tool) => !needsBox(tool))
}

/** @throws BatonError SANDBOX if commands of scripts need a sandbox and none is available */
export async function refuseWithoutBox({
  scope,
  services: { env },
}: ContextWith<'folders' | 'rights', Pick<Surroundings, 'env'>>): Promise<void> {
  const problem = await boxProblem({ scope, env })
  if (problem !== undefined) throw problem
}

/** Why no sandbox is available; undefined if one is, or none is needed. */
export async function boxProblem({ scope, env }: BoxUser): Promise<BatonError | undefined> {
  const { sandboxProblem } = await import('./probe.ts')
  const workspace = realPath(scope.folders.workspace)
  return sandboxProblem(scope.rights.sandbox ?? strictestSandbox, { env, workspace })
}

/** Whether one of them is selected by its exact name, not by a pattern. */
function isInsisted(tools: readonly ToolName[], { tools: named = [] }: ToolFilter): boolean {
  return tools.some((tool) => needsBox(tool) && named.includes(tool))
}

function missingBash({ message, hint }: BatonError): MissingBox {
  return { message: `bash is not offered to models: ${message}`, hint }
}
