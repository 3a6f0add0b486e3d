import type { RunEvent } from '../event/event.ts'

/** True for what happens inside an agent of the run: tasks and rounds of a prompt file below are not those of the run. */
export function isNested({ agent }: RunEvent): boolean {
  return agent.split('/').some((name) => ['pre', 'pre_task', 'post_task', 'post', 'ask', 'agent'].includes(name))
}

/**
 * The part of the run that a place belongs to: its task (`task/3`, `redo/1/task/3`, `main/task/3`), a stage of the whole
 * run (`pre`, `post`), the agent that is the target (`main`), or the run itself (the place as it is).
 */
export function laneOf(place: string): string {
  const found = /^(?:\w+\/\d+\/)*?(?:(?:main\/)?task\/\d+|pre|post|main)(?=\/|$)/.exec(place)
  return found === null ? place : found[0]
}
