import { realPath } from '../../base/files.ts'
import type { RunContext } from '../../event/context.ts'
import { strictestSandbox } from '../../event/sandbox-rights.ts'

/** Tools that run programs which a model chooses. */
const boxedTools: readonly string[] = ['bash']

/**
 * Refuses to give a model tools that run programs, or to run the commands of scripts in a sandbox, where this machine cannot
 * make one: before anything is paid.
 * @throws BatonError SANDBOX
 */
export async function refuseWithoutBox(tools: readonly string[], { scope, services }: RunContext): Promise<void> {
  const rights = scope.rights.sandbox ?? strictestSandbox
  if (!rights.scripts && !tools.some((name) => boxedTools.includes(name))) return
  const { sandboxProblem } = await import('./probe.ts')
  const workspace = realPath(scope.folders.workspace)
  const problem = await sandboxProblem(rights, { env: services.env, workspace })
  if (problem !== undefined) throw problem
}
