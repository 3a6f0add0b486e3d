import { BatonError, messageOf } from '../../base/error.ts'
import type { ContextWith, Gate } from '../../event/context.ts'
import { type Message, textMessage, textOf } from '../../event/message.ts'
import { item, part, type Place } from '../../event/place.ts'
import type { Plugins } from './plugin.ts'

export interface Preparing {
  readonly plugins: Plugins
  readonly mode: string
  readonly userId: string
  /** Of the prompt. */
  readonly messages: readonly Message[]
}

/**
 * The context that plug-ins add to a prompt, one message each. It is recorded below the place of the next turn.
 * @throws BatonError AGENT_FAILED for one that throws
 */
export async function preparedMessages(
  { plugins, mode, userId, messages }: Preparing,
  turn: Place,
  { scope, services }: ContextWith<'folders', Gate>,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  if (plugins.preparing.length === 0) return []
  const { workspace } = scope.folders
  const input = messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .join('\n\n')
  const said: Message[] = []
  for (const [index, { id, prepare }] of plugins.preparing.entries()) {
    const at = [...turn, part('context'), item(index)]
    const text = await services.effects.observeAsync(at, { name: 'plugin.prepare', args: { plugin: id } }, async () => {
      try {
        return (await prepare({ input, mode, userId, workspace, signal })) ?? ''
      } catch (error) {
        signal.throwIfAborted()
        throw new BatonError('AGENT_FAILED', `the plug-in ${id} failed in prepare: ${messageOf(error)}`, {
          hint: 'Fix it, or remove it from plugins in your config file.',
          cause: error,
        })
      }
    })
    if (text !== '') said.push(textMessage('user', `# From ${id}\n\n${text}`))
  }
  return said
}
