import { join } from 'node:path'
import { displayPath } from '../../base/files.ts'
import { harmless } from '../../base/terminal-text.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import type { Grant } from '../../event/permission.ts'
import { readChatContext } from '../../journal/chat-context.ts'
import { grantKey, revokeGrants } from '../../journal/grants.ts'
import { ruleRows } from '../../load/rules-in-force.ts'
import { grantText } from '../../render/approval.ts'
import { usageError } from '../command.ts'
import { workspaceRuns } from '../runs-folder.ts'
import type { Session } from './session.ts'

const usage = 'Usage: /permissions, /permissions revoke N, or /permissions revoke all.'

/**
 * `/permissions`: what was allowed at questions of the chat, with numbers, and the rules of the settings. `/permissions
 * revoke N|all`: later messages ask again about what was allowed.
 * @throws BatonError USAGE for wrong arguments
 */
export async function permissions(rest: string, session: Session): Promise<void> {
  const [action, which, ...more] = rest.split(/\s+/)
  const allowed = await readAllowed(session)
  if (rest === '') return list(allowed.grants, session)
  if (action !== 'revoke' || which === undefined || more.length > 0)
    throw usageError('/permissions takes nothing, or revoke with a number or all', usage)
  const chosen = which === 'all' ? allowed.grants : allowed.grants.filter((_, index) => String(index + 1) === which)
  if (chosen.length === 0) {
    const none = which === 'all' ? 'nothing was allowed in this chat' : `nothing was allowed under the number ${which}`
    throw usageError(none, 'See /permissions.')
  }
  for (const folder of allowed.folders) revokeGrants(folder, chosen.map(grantKey))
  for (const grant of chosen) session.say(`asks again: ${textOf(grant, session)}`)
}

/** What is allowed for the next message, each once, and the folders of the runs in which it was allowed. */
async function readAllowed({
  chat,
  flags,
  around,
}: Session): Promise<{ readonly grants: readonly Grant[]; readonly folders: readonly string[] }> {
  const last = chat.last()
  if (last === undefined) return { grants: [], folders: [] }
  const { folder } = await workspaceRuns(flags, around)
  const { grants, grantedIn } = await readChatContext(folder, last, await chat.mask())
  const each = new Map(grants.toReversed().map((grant) => [grantKey(grant), grant]))
  return { grants: [...each.values()], folders: grantedIn.map((run) => join(folder, run)) }
}

async function list(grants: readonly Grant[], session: Session): Promise<void> {
  const { chat, around, say } = session
  const { settings } = await loadTargetConfig({ ...around, flags: { overrides: chat.settings().overrides } })
  const rules = ruleRows(settings).map(({ key, value, origin }) => `  ${key} = ${JSON.stringify(value)}  (${origin})`)
  const allowed = grants.map((grant, index) => `  ${index + 1}  ${textOf(grant, session)}`)
  say(
    [
      ...(allowed.length === 0
        ? ['nothing was allowed in this chat beyond single calls']
        : ['allowed in this chat (/permissions revoke N):', ...allowed]),
      ...(rules.length === 0 ? [] : ['rules of the settings:', ...rules.map(harmless)]),
      'everything else: see baton config --permission "TOOL …"',
    ].join('\n'),
  )
}

function textOf(grant: Grant, { around }: Session): string {
  const text = grantText(grant, (path) => displayPath(around.cwd, path))
  const subject = 'range' in grant ? undefined : grant.subject
  return subject?.kind === 'command' ? `${text}: ${harmless(subject.line)}` : text
}
