import type { Tool } from '../../event/agent.ts'
import { bindTool } from './bind.ts'
import type { Toolbox, ToolKind } from './kind.ts'
import type { ToolName } from './names.ts'

/**
 * Tools of the toolbox. The others are created in agent/: `interpreter_run` from the other tools, `task` and its
 * companions from agents.
 */
type BoxedName = Exclude<ToolName, 'interpreter_run' | 'task' | 'task_output' | 'task_stop'>

/** Each is loaded only if a model gets it. */
const kinds: { readonly [Name in BoxedName]: () => Promise<ToolKind> } = {
  bash: async () => (await import('./bash.ts')).bash,
  bash_output: async () => (await import('./bash-output.ts')).bashOutput,
  edit: async () => (await import('./edit.ts')).edit,
  enter_plan: async () => (await import('./enter-plan.ts')).enterPlan,
  exit_plan: async () => (await import('./exit-plan.ts')).exitPlan,
  read: async () => (await import('./read.ts')).read,
  glob: async () => (await import('./glob.ts')).glob,
  grep: async () => (await import('./grep.ts')).grep,
  kill: async () => (await import('./kill.ts')).kill,
  todo: async () => (await import('./todo.ts')).todo,
  webfetch: async () => (await import('./webfetch.ts')).webfetch,
  write: async () => (await import('./write.ts')).write,
}

/** The tools of one conversation, in the order of the list of names. */
export async function openTools(names: readonly ToolName[], box: Toolbox): Promise<readonly Tool[]> {
  const boxed = names.filter((name): name is BoxedName => name in kinds)
  return Promise.all(boxed.map(async (name) => bindTool(await kinds[name](), box)))
}
