import { BatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { Bus } from '../event/bus.ts'
import { runsFolder } from '../journal/run-id.ts'
import type { SecretMask } from '../journal/secrets.ts'
import type { Invocation } from '../run/record.ts'
import type { Target } from '../load/target.ts'
import type { Surroundings } from './conduct.ts'

interface ChatParts extends Pick<Surroundings, 'env' | 'home' | 'session'> {
  readonly mask: SecretMask
  readonly bus: Bus
  /** What the shell of a resumed message starts with is in its record, if there was anything. */
  readonly isResumed: boolean
  /** When a message that is resumed or replayed began, in milliseconds since 1970. */
  readonly begunAt?: number
}

/**
 * Adds to a message of a chat its shell, and what was said before it, read from the records of the earlier runs.
 * @throws BatonError USAGE for an agent file, which has no conversation
 */
export async function withHistory(
  target: Target,
  { chat }: Pick<Invocation, 'chat'>,
  { env, home, session, mask, bus, isResumed, begunAt }: ChatParts,
): Promise<Target> {
  if (chat === undefined) return target
  if (target.kind !== 'prompt') {
    const hint = 'Name a prompt file (.md) or no file, and list the agent in sub_agents.'
    throw new BatonError('USAGE', `${target.agent.name} is an agent, and an agent cannot be used as a chat`, { hint })
  }
  const shell = session && (isResumed ? { ...session.shell, start: () => undefined } : session.shell)
  const own = defined({ shell })
  if (chat.after === undefined) return { ...target, ...own, said: [] }
  const { createChatReader, readChatContext, readerAt } = await import('../journal/chat-context.ts')
  // earlier messages may have been resumed since
  const reader = begunAt === undefined ? session && (session.reader ??= createChatReader()) : readerAt(begunAt)
  const runs = runsFolder({ env, home, workspace: target.workspace, runsDir: target.settings.runs.dir })
  const { messages, grants, lost } = await readChatContext(runs, chat.after, mask, reader)
  if (lost !== undefined) {
    const message = `the record of run ${lost} is missing: what this chat said up to that run is lost`
    bus.send([], { type: 'warning', message })
  }
  const { spec, settings } = target
  const agents = settings.chat?.chain === 'once' ? [] : spec.agents
  return { ...target, ...own, said: chat.isApart === true ? [] : messages, granted: grants, spec: { ...spec, agents } }
}
