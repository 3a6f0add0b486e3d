import { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { joinParts } from '../../config/agent-definitions.ts'
import type { Delegate, DelegateWorker } from '../../config/delegate.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import { parsePrompt } from '../../prompt/document.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'

/**
 * The agents that may be workers of a team, by the names that its leader uses.
 * @throws BatonError CONFIG_INVALID, at its place, for a script or a program, which cannot work on a list
 */
export async function workersOf(
  { workers }: Delegate,
  target: PromptTarget,
  context: RunContext,
): Promise<ReadonlyMap<string, AgentDefinition>> {
  const found = new Map<string, AgentDefinition>()
  const defined = (await context.services.definitions?.()) ?? new Map<string, AgentDefinition>()
  for (const worker of workers) {
    const known = defined.get(worker.agent)
    const definition = known ?? (await ofFile(worker, target))
    if (definition?.agent.kind !== 'prompt') throw await notForTeams(worker, target)
    found.set(worker.name, definition)
  }
  return found
}

async function ofFile({ name, agent }: DelegateWorker, target: PromptTarget): Promise<AgentDefinition | undefined> {
  const file = await target.findAgent({ name: agent })
  if (file.kind !== 'prompt') return undefined
  const shown = displayPath(target.workspace, file.file)
  const { meta, instruction } = await parsePrompt(shown, file.text)
  const source = { file: file.file, shown, text: file.text, form: 'prompt', at: [] } as const
  const values = { ...meta.data, instructions: instruction }
  return joinParts(name, [{ from: 'workspace', isTrusted: false, values, source }], file.file)
}

async function notForTeams({ name, index }: DelegateWorker, target: PromptTarget): Promise<BatonError> {
  const place = index === undefined ? undefined : await target.placeOf(['delegate', 'workers', index], 'value')
  const message = `the worker "${name}" cannot work on a list: it is a script or a program`
  return new BatonError('CONFIG_INVALID', message, {
    ...(place === undefined ? {} : { place }),
    hint: 'Name a prompt file, or an agent of [agents] that runs on a model.',
  })
}
