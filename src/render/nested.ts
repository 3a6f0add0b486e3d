import type { RunEvent } from '../event/event.ts'

/** True for what happens inside an agent of the run: tasks and rounds of a prompt file below are not those of the run. */
export function isNested({ agent }: RunEvent): boolean {
  return agent.split('/').some((name) => ['pre', 'pre_task', 'post_task', 'post', 'ask', 'agent'].includes(name))
}
