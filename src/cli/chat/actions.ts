import { join, resolve } from 'node:path'
import { existsSync, readFileSync } from 'node:fs'
import { BatonError } from '../../base/error.ts'
import { isJsonObject } from '../../base/json.ts'
import { harmless } from '../../base/terminal-text.ts'
import { findChat, listChats } from '../../chat/chat-list.ts'
import { openChat, reopenChat } from '../../chat/chat.ts'
import { undoneBy } from '../../journal/undo-mark.ts'
import { openChanges } from '../../undo/open-changes.ts'
import { createMask, noMask } from '../../journal/secrets.ts'
import { countOf, formatCost, formatUsage } from '../../render/format.ts'
import { usageError } from '../command.ts'
import { undoCommand } from '../commands/undo.ts'
import { workspaceRuns } from '../runs-folder.ts'
import { fileCommands } from './file-commands.ts'
import type { Session } from './session.ts'
import { builtinCommands, type BuiltinName } from './slash/builtin.ts'
import { wordsOf } from './slash/words.ts'
import { displayPath, writeFileAtomic } from '../../base/files.ts'
import { cutEnd } from '../../base/width.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import type { LifeState } from '../../mcp/server-life.ts'
import { textOf } from '../../event/message.ts'
import { findLayout, metaBlock } from '../../prompt/layout.ts'
import { linesOf } from '../../prompt/lines.ts'
import { withoutMark } from '../../base/text-lines.ts'
import { readChatContext } from '../../journal/chat-context.ts'
import { conditionForms, type IterationCondition, parseCondition } from '../../settings/strategies/iterate.ts'

type Action = (rest: string, session: Session) => Promise<void>

const actions: { readonly [Name in Exclude<BuiltinName, 'exit'>]: Action } = {
  help,
  iter,
  tasks,
  stop,
  mcp,
  collab,
  mode,
  model,
  permissions: async (rest, session) => (await import('./permissions.ts')).permissions(rest, session),
  undo,
  fork: async (rest, session) => (await import('./go-back.ts')).fork(rest, session),
  rewind: async (rest, session) => (await import('./go-back.ts')).rewind(rest, session),
  compact,
  cost,
  save,
  clear,
  resume,
}

/** Runs a built-in command of chats. False: the chat is over. @throws BatonError USAGE for wrong arguments */
export async function runBuiltin(name: BuiltinName, rest: string, session: Session): Promise<boolean> {
  if (name === 'exit') return false
  await actions[name](rest.trim(), session)
  return true
}

/** Of the names in `/help`; what is longer has a line of its own. */
const nameColumns = 28

function helpLine(left: string, right: string): string {
  return `  ${left.padEnd(nameColumns)}  ${right}`
}

async function help(_: string, { say, around }: Session): Promise<void> {
  const { byName } = await fileCommands(around)
  const rows = [
    ...Object.entries(builtinCommands).map(([name, { hint, summary }]) => [`/${name} ${hint}`.trim(), summary]),
    ...[...byName.values()].map(({ name, argumentHint, description, shown }) => [
      harmless(`/${name} ${argumentHint}`.trim()),
      harmless(description === '' ? shown : description),
    ]),
  ]
  const lines = rows.flatMap(([left = '', right = '']) =>
    left.length > nameColumns ? [`  ${left}`, helpLine('', right)] : [helpLine(left, right)],
  )
  say(
    [
      ...lines,
      '',
      '  !COMMAND  run a shell command; its output goes to the model with your next message',
      '  @PATH     name a file; Tab completes the path',
      '',
      '  What you send during an answer waits for its turn; on an empty line, Up takes the last of it back.',
      '  Ctrl-C stops an answer: what waits is sent when you press Enter.',
    ].join('\n'),
  )
}

/** Iterates on a prompt, in the foreground or in the background. */
async function iter(rest: string, session: Session): Promise<void> {
  const { isBackground, knowsChat, condition, prompt } = readIter(rest)
  const overrides = [`iterate.condition=${JSON.stringify(condition)}`]
  const message = { text: prompt, overrides, ...(knowsChat ? {} : { isApart: true as const }) }
  if (isBackground) {
    const id = await session.background.start(prompt, (watching, listener) =>
      session.chat.send({ ...message, kind: 'background' }, watching, listener),
    )
    session.say(`Started iterative task: ${id}`)
    return
  }
  let counts: string | undefined
  await session.answer(message, (event) => {
    if (event.type !== 'iterate.completed' || !isJsonObject(event.result)) return
    const { iterations_succeeded: succeeded, iterations_attempted: attempted } = event.result
    counts = `${Number(succeeded)}/${Number(attempted)}`
  })
  if (counts !== undefined) session.say(`Completed: ${counts} iterations`)
}

async function tasks(_: string, { background, chat, say }: Session): Promise<void> {
  const all = background.tasks()
  const { jobs } = chat.session.shell
  const commands = jobs.ids().flatMap((id) => {
    const job = jobs.find(id)
    return job === undefined || job === 'gone' ? [] : [job]
  })
  if (all.length + commands.length === 0) return say('no tasks in the background')
  for (const { id, text, report, iterations } of all) {
    const state = report === undefined ? 'running' : report.stopReason
    say(`${id}  ${state}, ${countOf(iterations.ended, 'iteration')}  ${harmless(text)}`)
  }
  for (const { id, line, end } of commands)
    say(`${id}  ${end() === undefined ? 'running' : 'ended'}  ${harmless(cutEnd(line.replaceAll(/\s+/g, ' '), 100))}`)
}

async function stop(rest: string, { background, chat, say }: Session): Promise<void> {
  const job = chat.session.shell.jobs.find(rest)
  if (job !== undefined && job !== 'gone') {
    await job.running.stop()
    return say(`stopped: ${rest}`)
  }
  const stopped = background.stop(rest === '' ? undefined : rest)
  if (stopped.length === 0 && rest !== '') throw usageError(`there is no task ${rest} in the background`, 'See /tasks.')
  say(stopped.length === 0 ? 'no tasks in the background' : `stopped: ${stopped.join(', ')}`)
}

/** The servers of the settings and those of packs that were used, with what they do now. */
async function mcp(rest: string, { chat, around, say }: Session): Promise<void> {
  const [word, name, ...more] = rest === '' ? [] : rest.split(/\s+/)
  const servers = chat.session.openServers()
  if (word !== undefined) {
    if (word !== 'restart' || name === undefined || more.length > 0) {
      throw usageError(`/mcp does not take ${rest}`, 'Usage: /mcp, or /mcp restart NAME.')
    }
    if (servers?.end(name) === true) return say(`${name} was ended; its next use starts it anew`)
    throw usageError(`no MCP server ${name} was used in this chat`, 'See /mcp.')
  }
  const { settings } = await loadTargetConfig({ ...around, flags: { overrides: chat.settings().overrides } })
  const used = new Map(servers?.states().map((one) => [one.name, stateText(one.state)]))
  const given = Object.entries(settings.mcp_servers ?? {}).filter(([, { enabled }]) => enabled !== false)
  const rows = new Map([...given.map(([one]) => [one, 'not used yet'] as const), ...used])
  if (rows.size === 0) return say('no MCP servers are configured; see baton mcp list')
  const width = Math.max(...[...rows.keys()].map(({ length }) => length))
  for (const [one, state] of rows) say(`${one.padEnd(width)}  ${harmless(state)}`)
}

function stateText(state: LifeState): string {
  switch (state.kind) {
    case 'unused':
      return 'not used yet'
    case 'starting':
    case 'connected':
      return state.kind
    case 'failed':
      return `not started: ${state.reason}`
    case 'ended':
      return `ended, and is started again when it is needed: ${state.reason}`
  }
}

async function collab(rest: string, session: Session): Promise<void> {
  const isOn = valueOf('collab.enabled', session) === 'true'
  if (rest !== '' && rest !== 'on' && rest !== 'off')
    throw usageError(`/collab takes on or off, not ${rest}`, 'Usage: /collab [on|off]')
  const wanted = rest === '' ? !isOn : rest === 'on'
  set('collab.enabled', String(wanted), session)
  session.say(wanted ? 'the model may start and lead a team of agents' : 'the model cannot start agents')
}

async function mode(rest: string, session: Session): Promise<void> {
  if (rest === '') return session.say(`mode: ${valueOf('mode', session) ?? 'from the settings (default: classic)'}`)
  const { refuseMode } = await import('./next-message.ts')
  await refuseMode(`mode=${JSON.stringify(rest)}`, session)
  set('mode', JSON.stringify(rest), session)
  session.say(`mode for the next messages: ${rest}`)
}

async function model(rest: string, session: Session): Promise<void> {
  const { modelNamed } = await import('./next-message.ts')
  if (rest === '') return session.say(`model: ${(await modelNamed(undefined, session)).label}`)
  await modelNamed(rest, session)
  session.chat.change({ model: rest })
  session.say(`model for the next messages: ${rest}`)
}

/** Undoes the newest message whose changes are still in place; run again, the one before it. */
async function undo(_: string, { chat, flags, around, io, say }: Session): Promise<void> {
  const { folder } = await workspaceRuns(flags, around)
  for (const { run } of (await chat.messages()).toReversed()) {
    if (undoneBy(join(folder, run)) !== undefined) continue
    const { changes } = await openChanges(join(folder, run), noMask)
    if (changes.length === 0) continue
    const undoFlags = { ...flags, words: [run], merge: false, dry: false }
    const exitCode = await undoCommand(undoFlags, io)
    chat.note(
      `I have undone the file changes of an earlier answer (${exitCode === 0 ? 'all of them' : 'not all of them'}).`,
    )
    return
  }
  say('no message of this chat has file changes left to undo')
}

async function compact(_: string, session: Session): Promise<void> {
  await session.compact()
}

async function cost(_: string, { chat, say }: Session): Promise<void> {
  const runs = (await chat.messages()).map(({ summary }) => summary)
  const sum = (pick: (run: (typeof runs)[number]) => number): number =>
    runs.reduce((total, run) => total + pick(run), 0)
  const usage = { input: sum(({ tokens }) => tokens.input), output: sum(({ tokens }) => tokens.output) }
  const isUnpriced = runs.some(({ cost_usd, calls }) => cost_usd === null && calls > 0)
  const price = formatCost(sum(({ cost_usd }) => cost_usd ?? 0))
  const parts = [
    countOf(runs.length, 'message'),
    countOf(
      sum(({ calls }) => calls),
      'model call',
    ),
    formatUsage({ ...usage, ...(runs.some(({ tokens }) => tokens.estimated) ? { estimated: true } : {}) }),
    price,
    isUnpriced ? 'the price of some calls is unknown' : '',
  ]
  say(parts.filter((part) => part !== '').join(' · '))
}

async function save(rest: string, session: Session): Promise<void> {
  const [file, more] = wordsOf(rest)
  if (file === undefined || more !== undefined) throw usageError('/save takes one file name', 'Usage: /save FILE')
  session.say(`saved: ${await saveChat(file.text, session)}`)
}

async function clear(_: string, session: Session): Promise<void> {
  const before = session.chat
  session.chat = openChat(session.host, before.settings())
  await before.close()
  session.say('started a new chat')
}

async function resume(rest: string, session: Session): Promise<void> {
  const { flags, around, say } = session
  const { folder } = await workspaceRuns(flags, around)
  if (rest !== '') {
    const before = session.chat
    // it is open here already
    if (findChat(folder, rest).id !== before.id()) {
      session.chat = await reopenChat(session.host, rest)
      await before.close()
    }
    return say(`continued: ${session.chat.id() ?? ''}`)
  }
  const chats = listChats(folder)
  if (chats.length === 0) return say('no chats in this workspace yet')
  for (const { id, messages } of chats.slice(0, 20)) {
    say(`${id}  ${countOf(messages.length, 'message')}  ${harmless(messages[0]?.text ?? '')}`)
  }
}

/** The value that the chat sets for a key, as in `-c KEY=…`, unparsed. */
function valueOf(key: string, { chat }: Session): string | undefined {
  return chat
    .settings()
    .overrides.findLast((one) => one.startsWith(`${key}=`))
    ?.slice(key.length + 1)
}

function set(key: string, value: string, { chat }: Session): void {
  const others = chat.settings().overrides.filter((one) => !one.startsWith(`${key}=`))
  chat.change({ overrides: [...others, `${key}=${value}`] })
}

/**
 * Writes a chat as a prompt file: the user's messages are its text, the last answer is below its `====` line, and the
 * settings are its front matter. An existing file is not replaced.
 * @returns its path, for display
 * @throws BatonError USAGE if there is no message yet or the file exists, FILE_FAILED
 */
async function saveChat(name: string, { chat, flags, around }: Session): Promise<string> {
  const last = chat.last()
  if (last === undefined) throw usageError('there is nothing to save yet', 'Send a message first.')
  const path = resolve(around.cwd, name.endsWith('.md') ? name : `${name}.md`)
  const shown = displayPath(around.cwd, path)
  if (existsSync(path))
    throw new BatonError('USAGE', `${shown} already exists`, { hint: 'Name another file, or remove it.' })
  const { folder } = await workspaceRuns(flags, around)
  const { messages } = await readChatContext(folder, last, createMask(around.env))
  const asked = messages.filter(({ role }) => role === 'user').map((message) => textOf(message).trim())
  const answer = messages.findLast(({ role }) => role === 'assistant')
  const text = [
    frontMatterOf(chat.settings(), around.cwd),
    asked.join('\n\n'),
    '',
    '====',
    '',
    answer === undefined ? '' : textOf(answer).trim(),
    '',
  ]
  // like records, it must not contain secrets
  writeFileAtomic(path, createMask(around.env).hide(text.join('\n')))
  return shown
}

/** The front matter of the chat's prompt file, else the settings made by its commands. */
function frontMatterOf({ file, model, overrides }: ReturnType<Session['chat']['settings']>, cwd: string): string {
  const own = file === undefined ? undefined : writtenFrontMatter(resolve(cwd, file))
  if (own !== undefined) return own
  const lines = [
    ...(model === undefined ? [] : [`model = ${JSON.stringify(model)}`]),
    'tools = ["*"]',
    ...overrides.map((one) => one.replace('=', ' = ')),
  ]
  return `+++\n${lines.join('\n')}\n+++\n`
}

function writtenFrontMatter(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  const text = withoutMark(readFileSync(path, 'utf8'))
  const prompt = { file: path, text, lines: linesOf(text) }
  const block = metaBlock(prompt, findLayout(prompt))
  return block && `${prompt.lines.slice(block.start, block.end + 1).join('\n')}\n\n`
}

/** The arguments of `/iter`. */
interface IterArguments {
  readonly isBackground: boolean
  /** Whether its iterations get the earlier messages of the chat. */
  readonly knowsChat: boolean
  /** A count or a duration, unparsed. */
  readonly condition: string
  readonly parsed: IterationCondition
  readonly prompt: string
}

const usage =
  'Usage: /iter [--background] [--with-chat] COUNT|DURATION "PROMPT", for example /iter 5 "fix the tests" or /iter 2h "improve it".'

const iterFlags: ReadonlySet<string> = new Set(['--background', '--with-chat'])

/**
 * Reads the arguments of `/iter`. The prompt may be quoted; without quotes it is the rest of the line.
 * @throws BatonError USAGE
 */
export function readIter(rest: string): IterArguments {
  const words = wordsOf(rest)
  const end = words.findIndex(({ text }) => !iterFlags.has(text))
  const flags = new Set(words.slice(0, end === -1 ? words.length : end).map(({ text }) => text))
  const [condition, first, second] = words.slice(flags.size)
  const parsed = condition === undefined ? undefined : parseCondition(condition.text)
  if (condition === undefined) throw usageError('/iter needs a condition and a prompt', usage)
  if (parsed === undefined) {
    throw usageError(
      `/iter: ${JSON.stringify(condition.text)} is neither a count nor a duration`,
      `Write ${conditionForms}. ${usage}`,
    )
  }
  if (first === undefined) throw usageError('/iter: the prompt is missing', usage)
  const prompt = second === undefined ? first.text : rest.slice(first.start).trim()
  if (prompt.trim() === '') throw usageError('/iter: the prompt is empty', usage)
  const [isBackground, knowsChat] = [flags.has('--background'), flags.has('--with-chat')]
  return { isBackground, knowsChat, condition: condition.text, parsed, prompt }
}
