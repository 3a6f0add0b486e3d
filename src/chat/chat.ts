import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { cutEnd } from '../base/width.ts'
import { defined } from '../base/json.ts'
import type { Surroundings as Place } from '../config/locate.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import type { Listener } from '../event/bus.ts'
import { summaryInstruction } from '../event/conversation-summary.ts'
import { readRunSummary } from '../history/run-list.ts'
import { readValue } from '../journal/cassette.ts'
import { capture } from '../journal/work-result.ts'
import { hasBegun } from '../journal/has-begun.ts'
import { chatPlaceOf } from '../journal/chat-place.ts'
import { readRunState } from '../journal/run-state.ts'
import { isOnNetwork } from '../journal/network.ts'
import { removeRun } from '../journal/prune.ts'
import { newRunId, runsFolder } from '../journal/run-id.ts'
import type { SecretMask } from '../journal/secrets.ts'
import { openSigningKey, type SigningKey } from '../journal/signing.ts'
import type { RunStatus, RunSummary } from '../journal/summary.ts'
import { invocationOf } from '../run/record.ts'
import { type StartOptions, startRun } from '../runner.ts'
import type { RunReport, Surroundings } from '../wiring/conduct.ts'
import type { ResumeOptions } from '../wiring/resume.ts'
import { maskFor } from '../wiring/run-context.ts'
import {
  findChat,
  listChats,
  type ListedMessage,
  listFork,
  listMessage,
  listRewind,
  longestText,
  type MessageKind,
} from './chat-list.ts'
import { type ChatLease, claimChat } from './chat-owner.ts'
import { createSessionResources, type SessionResources, type SessionState } from '../wiring/session-resources.ts'
import { type LastTurn, readTurns } from './last-turns.ts'
import { endLeftoverProcesses, lossText, readSession, storeSession } from './session-file.ts'
import { removePendingMessage, storePendingMessage, type PendingMessage, pendingMessages } from './pending-messages.ts'

/** The settings of messages in a chat; each message may change them for the next ones. */
export interface ChatSettings {
  /** The prompt file of the chat, as named by the user; undefined: none. */
  readonly file?: string
  readonly model?: string
  /** `--var NAME=VALUE` for the variables of the file. */
  readonly vars?: readonly string[]
  /** Settings as `-c` takes them. */
  readonly overrides: readonly string[]
}

/** One message for a chat. */
export interface Outgoing {
  /** Default: the text of the prompt file. */
  readonly text?: string
  /** Default: `message`. */
  readonly kind?: MessageKind
  /** Its models get none of the earlier messages. */
  readonly isApart?: true
  /** The model that answers this message; default: the model of the chat. */
  readonly model?: string
  /** The mode in which it is answered; default: the mode of the chat. */
  readonly mode?: string
  /** Settings for this message only, as `-c` takes them. */
  readonly overrides?: readonly string[]
}

/** Observers of a message while it is answered. */
export type Watching = Pick<
  Surroundings,
  'signal' | 'isAttended' | 'approver' | 'askPerson' | 'unattendedApprover' | 'calling'
> &
  Pick<StartOptions, 'onAsk' | 'patienceMs'> &
  Pick<ResumeOptions, 'uncertain' | 'isUnattended'> & {
    /** Called with the id of the run once it is recorded. */
    readonly onBegin?: (run: string) => void
  }

/**
 * A conversation whose messages are runs: each gets the earlier messages, and can be inspected, resumed and undone like
 * any run. Each reads agents, commands and config again. See docs/design/chat.md.
 */
export interface Chat {
  /** The id of its first run; undefined until then. */
  readonly id: () => string | undefined
  readonly settings: () => ChatSettings
  /** Whether it is of this prompt file, as named by the user. */
  readonly isOf: (file: string) => boolean
  /** Masks the secrets of the environment and of the config files. */
  readonly mask: () => Promise<SecretMask>
  /** For the next messages. */
  readonly change: (settings: Partial<ChatSettings>) => void
  /** The run of the latest message that the next one knows about. */
  readonly last: () => string | undefined
  /** Its messages that were taken by a process that was killed before their runs began, oldest first. */
  readonly taken: () => readonly PendingMessage[]
  /** Something that happened in between; the model gets it with the next message. */
  readonly note: (text: string) => void
  /** Whether the conversation is so long that it should be summarized before the next message. */
  readonly isLong: () => boolean
  /**
   * Answers a message: runs it to its end, as `conduct` does. Messages that are not in the background are executed one
   * after the other.
   */
  readonly send: (message: Outgoing, watching: Watching, listener: Listener) => Promise<RunReport>
  /** Answers a message of `taken`. */
  readonly sendTaken: (message: PendingMessage, watching: Watching, listener: Listener) => Promise<RunReport>
  /**
   * Summarizes the conversation; later messages get the summary instead. @throws BatonError USAGE if there are no
   * messages
   */
  readonly compact: (watching: Watching, listener: Listener) => Promise<RunReport>
  /** Resumes a message that was interrupted or waits. @throws BatonError as `resumeRun` does */
  readonly resume: (run: string, watching: Watching, listener: Listener) => Promise<RunReport>
  /** Its messages whose runs have begun, oldest first. */
  readonly messages: () => Promise<readonly ChatMessage[]>
  /**
   * Goes back to a message, by its run; undefined: to the beginning. Later messages do not know those after it, nor does
   * another process. @throws BatonError FILE_FAILED
   */
  readonly rewind: (run: string | undefined) => Promise<void>
  /** How the last of them were answered, oldest first. */
  readonly lastTurns: (count: number) => Promise<readonly LastTurn[]>
  /** Its MCP servers and its shell, which live until `close`. */
  readonly session: SessionResources
  /** Ends its session, and lets another process open it. Call it when no message is being answered. */
  readonly close: () => Promise<void>
}

export interface ChatMessage extends ListedMessage {
  readonly summary: RunSummary
}

/** The request size in tokens from which a chat is summarized. */
const defaultCompactAt = 100_000

/** Who opens a chat, and where its runs work. */
export interface ChatHost extends Place {
  /** Its name, for others that want to open the chat: `baton chat`. */
  readonly what: string
  /** Whether a message is kept whose run could not begin; not if its sender learns that it was not accepted. */
  readonly keepsTaken: boolean
}

export function openChat(host: ChatHost, settings: ChatSettings): Chat {
  let opened: Store | undefined
  const store = async (): Promise<Store> => (opened ??= await openStore(host, settings.overrides))
  const begin = {
    settings,
    id: undefined,
    last: undefined,
    tokens: 0,
    modelOfFile: undefined,
    taken: [],
    earlier: undefined,
  }
  return createChat(host, { ...begin, store, lease: undefined })
}

/**
 * Finds a chat of this workspace by its id, the start of its id, or `last`, and opens it for this process alone.
 * @param changed new settings; the others are those of its latest message
 * @throws BatonError USAGE if there is none, or it is open elsewhere
 */
export async function reopenChat(host: ChatHost, id: string, changed: Partial<ChatSettings> = {}): Promise<Chat> {
  const store = await openStore(host, changed.overrides ?? [])
  const { runs } = store
  const found = findChat(runs, id, takenIn(store))
  const lease = await claimChat(runs, found.id, host)
  try {
    // what is in progress elsewhere is not left behind
    const left = takenIn(store).filter(({ chat }) => chat === found.id)
    const taken: PendingMessage[] = []
    for (const message of left) if (!(await isRecorded(message, store))) taken.push(message)
    const { messages } = findChat(runs, found.id, taken)
    const last = await lastBegun(
      runs,
      messages.filter(({ kind }) => kind !== 'background'),
    )
    const from =
      (await lastBegun(
        runs,
        messages.filter(({ kind }) => kind === 'message'),
      )) ??
      messages.at(-1)?.run ??
      ''
    const before = await settingsOf(join(runs, from), store.mask)
    const summary = last === undefined ? undefined : await readRunSummary(join(runs, last))
    const calls = Math.max(1, summary?.calls ?? 1)
    const earlier = readSession(runs, found.id)
    if (earlier !== undefined) await endLeftoverProcesses(earlier)
    return createChat(host, {
      settings: { ...(before ?? taken.at(-1)?.settings ?? { overrides: [] }), ...defined(changed) },
      store: async () => store,
      lease,
      id: found.id,
      last,
      // the size of its latest request is not known; requests usually grow from the first to the last
      tokens: (summary?.tokens.input ?? 0) / calls,
      // a gateway gets every name verbatim
      modelOfFile: summary?.models.at(-1)?.replace(/^gateway::/, ''),
      taken,
      earlier,
    })
  } catch (error) {
    lease.release()
    throw error
  }
}

/** Of messages that are not answered yet. */
const openStates: ReadonlySet<RunStatus> = new Set<RunStatus>([
  'running',
  'waiting',
  'interrupted',
  'suspended',
  'waiting_for_approval',
])

/**
 * Opens a copy of a chat, which may be open elsewhere: a new chat that begins with the same messages, whose runs both
 * have. Those that are not answered yet are left out.
 * @param id of the chat, the start of its id, or `last`
 * @param upTo the run of the last message of the copy; undefined: all
 * @param changed as in `reopenChat`
 * @throws BatonError USAGE if there is none, or nothing in it to copy
 */
export async function forkChat(
  host: ChatHost,
  id: string,
  { upTo, changed = {} }: { readonly upTo?: string; readonly changed?: Partial<ChatSettings> } = {},
): Promise<Chat> {
  const { runs } = await openStore(host, changed.overrides ?? [])
  const { messages } = findChat(runs, id)
  const end = upTo === undefined ? messages.length : messages.findIndex(({ run }) => run === upTo) + 1
  const copied: ListedMessage[] = []
  for (const message of messages.slice(0, end)) {
    const summary = await readRunSummary(join(runs, message.run))
    if (message.kind !== 'background' && summary !== undefined && !openStates.has(summary.status)) copied.push(message)
  }
  if (copied.length === 0)
    throw new BatonError('USAGE', 'there is no answered message yet that a copy could begin with')
  const copy = newRunId(new Date())
  listFork(runs, copy, copied)
  return reopenChat(host, copy, changed)
}

/** The chats of a workspace, the one with the newest message first, also those whose only message was just taken. */
export async function listAllChats(place: Place): Promise<ReturnType<typeof listChats>> {
  const store = await openStore(place, [])
  return listChats(store.runs, takenIn(store))
}

/** Where the messages of a chat are recorded. */
interface Store {
  readonly runs: string
  readonly mask: SecretMask
  /** Undefined: nothing is recorded. */
  readonly key: SigningKey | undefined
}

async function openStore({ env, home, cwd }: Place, overrides: readonly string[]): Promise<Store> {
  const { workspace, settings } = await loadTargetConfig({ env, home, cwd, flags: { overrides } })
  const runs = runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
  const key = isOnNetwork(runs) ? undefined : capture(() => openSigningKey({ env, home }))
  return { runs, mask: await maskFor({ settings }, env), key: key?.status === 'ok' ? key.value : undefined }
}

function takenIn({ key, ...store }: Store): readonly PendingMessage[] {
  return key === undefined ? [] : pendingMessages({ ...store, key })
}

/** Whether the run of a taken message has begun: the message is listed then, and no longer taken. */
async function isRecorded(message: PendingMessage, { runs }: Store): Promise<boolean> {
  const { chat, kind, run, at, text } = message
  const folder = join(runs, run)
  if (!(await hasBegun(folder))) {
    // it is started again under the same id
    await removeRun(folder)
    return false
  }
  const isListed = listChats(runs).some(({ messages }) => messages.some((one) => one.run === run))
  if (!isListed) listMessage(runs, chat, { kind, run, at, text })
  removePendingMessage(runs, run)
  return true
}

/** The run of the last message that has begun. */
async function lastBegun(runs: string, messages: readonly ListedMessage[]): Promise<string | undefined> {
  for (const { run } of messages.toReversed()) if (await hasBegun(join(runs, run))) return run
  return undefined
}

interface Beginning {
  readonly settings: ChatSettings
  readonly store: () => Promise<Store>
  /** Undefined: the chat is new. */
  readonly lease: ChatLease | undefined
  readonly id: string | undefined
  readonly last: string | undefined
  readonly tokens: number
  /** The model named by the prompt file or the config. */
  readonly modelOfFile: string | undefined
  readonly taken: readonly PendingMessage[]
  /** What the session of an earlier process had. */
  readonly earlier: SessionState | undefined
}

function createChat(host: ChatHost, begin: Beginning): Chat {
  let { settings, lease, id, last, tokens, modelOfFile, taken } = begin
  let compactAt = defaultCompactAt
  const session = createSessionResources(begin.earlier)
  const lost = begin.earlier && lossText(begin.earlier)
  let notes: readonly string[] = lost === undefined ? [] : [lost]

  function release(): void {
    lease?.release()
    lease = undefined
  }

  /** Hands the session to a message of the conversation, and keeps its state for a later process. */
  async function sessionOf(chat: string): Promise<SessionResources> {
    const store = await begin.store()
    session.onChange = (state) => storeSession(state, chat, store)
    return session
  }

  async function close(): Promise<void> {
    await session.close()
    release()
  }

  async function send(outgoing: Outgoing, watching: Watching, listener: Listener): Promise<RunReport> {
    const store = await begin.store()
    const { kind = 'message', text, isApart = false } = outgoing
    const run = newRunId(new Date())
    /** Whether the next message need not tell them again. */
    const getsNotes = kind !== 'background' && !isApart
    // a later message comes after those that were left behind
    const left = getsNotes ? taken.filter((one) => one.kind === 'message') : []
    const fresh = isApart ? [] : notes
    const told = [...left.flatMap((one) => [...one.notes, one.outgoing.text ?? []].flat()), ...fresh.map(noted)]
    const shown = store.mask.hide(text ?? settings.file ?? '')
    const message = {
      chat: id ?? run,
      kind,
      run,
      at: Date.now(),
      text: cutEnd(shown, longestText),
      outgoing,
      settings,
      notes: told,
      ...defined({ after: last }),
    }
    lease ??= await claimChat(store.runs, message.chat, host)
    if (host.keepsTaken && kind !== 'summary' && store.key !== undefined)
      storePendingMessage(message, { ...store, key: store.key })
    const count = notes.length
    return start(message, watching, listener, () => {
      if (!getsNotes) return
      dropSentNotes(count, message.chat, store)
      for (const one of left) forget(one, store)
    })
  }

  /** A message has told the model about the first `count` notes. */
  function dropSentNotes(count: number, chat: string, store: Store): void {
    notes = notes.slice(count)
    if (begin.earlier !== undefined) storeSession(session.state(), chat, store)
  }

  function forget({ run }: PendingMessage, { runs }: Store): void {
    removePendingMessage(runs, run)
    taken = taken.filter((one) => one.run !== run)
  }

  async function start(
    message: PendingMessage,
    { onBegin, ...watching }: Watching,
    listener: Listener,
    onRecord: () => void,
  ): Promise<RunReport> {
    const store = await begin.store()
    const { chat, run, kind, at, outgoing, notes: told, after } = message
    const { text, isApart = false, model: ownModel, mode, overrides = [] } = outgoing
    const { file, model, vars } = message.settings
    const said = text === undefined || told.length === 0 ? text : [...told, text].join('\n\n')
    const others = message.settings.overrides
    const defaults = file === undefined ? await defaultOverrides(host, others) : []
    const own = mode === undefined ? overrides : [...overrides, `mode=${JSON.stringify(mode)}`]
    const flags = kind === 'summary' ? ['tools=[]'] : own
    const isInLine = kind !== 'background'
    const options: StartOptions = {
      cwd: host.cwd,
      env: host.env,
      home: host.home,
      ...watching,
      id: run,
      // what runs in the background works beside the conversation, with servers and a shell of its own
      ...(isInLine ? { session: await sessionOf(chat) } : {}),
      overrides: [...others, ...defaults, ...flags],
      chat: {
        id: chat,
        ...defined({ after }),
        ...(kind === 'summary' ? { isSummary: true } : {}),
        ...(isInLine ? {} : { isBackground: true }),
        ...(isApart ? { isApart } : {}),
        ...(ownModel === undefined ? {} : { modelOfOthers: model ?? '' }),
        ...(defaults.length + flags.length > 0 ? { ownOverrides: defaults.length + flags.length } : {}),
      },
      ...(file === undefined || kind === 'summary' ? { text: '' } : {}),
      // a summary does not use the prompt file, which may name the model
      ...defined({
        model: ownModel ?? model ?? (kind === 'summary' ? modelOfFile : undefined),
        vars,
        instruction: said,
      }),
      prepare(target) {
        compactAt = target.settings.chat?.compact_at ?? defaultCompactAt
        if (kind === 'message') modelOfFile = target.settings.model
        return target
      },
      onRecord() {
        id ??= chat
        if (isInLine) last = run
        listMessage(store.runs, chat, { kind, run, at, text: message.text })
        forget(message, store)
        onRecord()
        onBegin?.(run)
      },
    }
    try {
      const report = await startRun(kind === 'summary' ? 'summary' : (file ?? 'chat'), options, (event, result) => {
        if (isInLine && event.type === 'usage' && isOfMainAgent(event.agent)) {
          tokens = event.call.input + event.call.output
        }
        listener(event, result)
      })
      // the next message starts with the summary
      if (kind === 'summary' && report.exitCode === 0) tokens = 0
      return report
    } finally {
      // a message whose run could not begin has failed visibly
      forget(message, store)
      if (id === undefined) release()
    }
  }

  return {
    id: () => id,
    settings: () => settings,
    isOf: (file) => settings.file !== undefined && resolve(host.cwd, settings.file) === resolve(host.cwd, file),
    mask: async () => (await begin.store()).mask,
    change: (changed) => void (settings = { ...settings, ...changed }),
    last: () => last,
    taken: () => taken,
    note: (text) => void (notes = [...notes, text]),
    isLong: () => tokens > compactAt,
    send,
    async sendTaken(message, watching, listener) {
      const store = await begin.store()
      const told = message.kind === 'background' ? [] : notes
      const all = { ...message, notes: [...message.notes, ...told.map(noted)], ...defined({ after: last }) }
      return start(all, watching, listener, () => dropSentNotes(told.length, message.chat, store))
    },
    async compact(watching, listener) {
      if (last === undefined) throw new BatonError('USAGE', 'there are no messages yet to summarize')
      return send({ kind: 'summary', text: summaryInstruction }, watching, listener)
    },
    async resume(run, watching, listener) {
      const { resumeRun } = await import('../wiring/resume.ts')
      const { signal, isAttended, approver, askPerson, unattendedApprover, uncertain, isUnattended, calling } = watching
      const person = defined({ approver, askPerson, unattendedApprover })
      const looking = { ...person, ...defined({ signal, isAttended, uncertain, isUnattended, calling }) }
      const { env, home } = host
      const { runs } = await begin.store()
      const listed = listChats(runs)
        .find((chat) => chat.id === id)
        ?.messages.find((one) => one.run === run)
      const isInLine = listed !== undefined && listed.kind !== 'background'
      const own = isInLine && id !== undefined ? { session: await sessionOf(id) } : {}
      return resumeRun({ env, home, ...looking, ...own, folder: join(runs, run) }, listener)
    },
    async messages() {
      const { runs } = await begin.store()
      const listed = listChats(runs).find((chat) => chat.id === id)?.messages ?? []
      const all = await Promise.all(
        listed.map(async (message) => ({ message, summary: await readRunSummary(join(runs, message.run)) })),
      )
      return all.flatMap(({ message, summary }) =>
        summary === undefined || summary.begun === false ? [] : [{ ...message, summary }],
      )
    },
    async rewind(run) {
      if (id === undefined) return
      listRewind((await begin.store()).runs, id, run)
      last = run
      tokens = 0
    },
    async lastTurns(count) {
      const store = await begin.store()
      const { messages = [] } = listChats(store.runs).find((chat) => chat.id === id) ?? {}
      return readTurns(messages.filter(({ kind }) => kind === 'message').slice(-count), store)
    },
    session,
    close,
  }
}

function noted(note: string): string {
  return `[${note}]`
}

function isOfMainAgent(place: string): boolean {
  return /^(?:redo\/\d+\/)?task\/\d+\/ask$/.test(place)
}

/** The start settings of a message's run that apply to the next one as well. */
async function settingsOf(folder: string, mask: SecretMask): Promise<ChatSettings | undefined> {
  const start = (await readRunState(folder))?.start
  // a long message is stored in a separate file
  const facts = start && (await readValue(start.facts, { folder, mask }))
  const invocation = invocationOf(facts)
  if (invocation === undefined) return undefined
  const { cwd, file, text, model, vars, overrides } = invocation
  const path = resolve(cwd, file)
  const { ownOverrides: own = 0, modelOfOthers } = chatPlaceOf(facts) ?? {}
  const others = modelOfOthers ?? model ?? ''
  return {
    overrides: overrides.slice(0, overrides.length - own),
    vars,
    ...(text === undefined ? { file: existsSync(path) ? path : file } : {}),
    ...(others === '' ? {} : { model: others }),
  }
}

/**
 * The defaults of a chat without a prompt file, as `-c` takes them: all tools; tools that change files ask first.
 * @throws BatonError for an invalid config file
 */
async function defaultOverrides(around: Place, overrides: readonly string[]): Promise<readonly string[]> {
  const { origins } = await loadTargetConfig({ ...around, flags: { overrides } })
  const isSaid = (key: string): boolean =>
    origins.some(({ path, layer }) => path[0] === key && layer.origin.kind !== 'default')
  return [...(isSaid('tools') ? [] : ['tools=["*"]']), ...(isSaid('write_mode') ? [] : ['write_mode="ask"'])]
}
