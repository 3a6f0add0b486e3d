import type { BatonError } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { strictestSandbox } from '../../event/sandbox-rights.ts'
import type { RunSources } from '../../event/sources.ts'
import { comesWith, type ToolName } from '../toolbox/names.ts'

/** Tools that run programs which a model chooses, and what comes with them. */
function needsBox(tool: ToolName): boolean {
  return tool === 'bash' || comesWith(tool) === 'bash'
}

/**
 * Of the tools that a model is to be given, those that can be used here: where no sandbox can be made, tools that only a pattern
 * names are left out, and the run says so once.
 * @throws BatonError SANDBOX for a tool that is named by itself
 */
export async function boxableTools(
  tools: readonly ToolName[],
  { tools: named = [] }: ToolFilter,
  context: RunContext,
): Promise<readonly ToolName[]> {
  if (!tools.some(needsBox)) return tools
  const problem = await problemOf(context)
  if (problem === undefined) return tools
  if (tools.some((tool) => needsBox(tool) && named.includes(tool))) throw problem
  tellOnce(problem, context)
  return tools.filter((tool) => !needsBox(tool))
}

/** @throws BatonError SANDBOX where commands of scripts are to run in a sandbox, and none can be made */
export async function refuseWithoutBox(context: RunContext): Promise<void> {
  const problem = await problemOf(context)
  if (problem !== undefined) throw problem
}

async function problemOf({ scope, services }: RunContext): Promise<BatonError | undefined> {
  const { sandboxProblem } = await import('./probe.ts')
  const workspace = realPath(scope.folders.workspace)
  return sandboxProblem(scope.rights.sandbox ?? strictestSandbox, { env: services.env, workspace })
}

/** Runs that have been told; all parts of a run share their sources. */
const told = new WeakSet<RunSources>()

function tellOnce({ message, hint }: BatonError, context: RunContext): void {
  const { sources } = context.services
  if (told.has(sources)) return
  told.add(sources)
  emit(context, {
    type: 'warning',
    message: `no model is given bash: ${message}`,
    ...(hint === undefined ? {} : { hint }),
  })
}
