import { modelText } from '../base/model-text.ts'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { Surroundings as Place } from '../config/locate.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import type { Listener } from '../event/bus.ts'
import { readRunSummary } from '../history/run-list.ts'
import { readValue } from '../journal/cassette.ts'
import { chatPlaceOf } from '../journal/chat-place.ts'
import { glance } from '../journal/glance.ts'
import { newRunId, runsFolder } from '../journal/run-id.ts'
import { createMask, type SecretMask } from '../journal/secrets.ts'
import type { RunSummary } from '../journal/summary.ts'
import { invocationOf } from '../run/record.ts'
import { type StartOptions, startRun } from '../runner.ts'
import type { RunReport, Surroundings } from '../wiring/conduct.ts'
import { findChat, type ListedMessage, listMessage, type MessageKind } from './chat-list.ts'
import { defaultOverrides } from './defaults.ts'

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
  /** The model that answers this message; default: the model of the chat. */
  readonly model?: string
  /** Settings for this message only, as `-c` takes them. */
  readonly overrides?: readonly string[]
}

/** Observers of a message while it is answered. */
export type Watching = Pick<Surroundings, 'signal' | 'isAttended' | 'approver' | 'askPerson'> &
  Pick<StartOptions, 'onAsk' | 'patienceMs'> & {
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
  /** For the next messages. */
  readonly change: (settings: Partial<ChatSettings>) => void
  /** The run of the latest message that the next one knows about. */
  readonly last: () => string | undefined
  /** Something that happened in between; the model gets it with the next message. */
  readonly note: (text: string) => void
  /** Whether the conversation is so long that it should be summarized before the next message. */
  readonly isLong: () => boolean
  /**
   * Answers a message: runs it to its end, as `conduct` does. Messages that are not in the background are executed one
   * after the other.
   */
  readonly send: (message: Outgoing, watching: Watching, listener: Listener) => Promise<RunReport>
  /**
   * Summarizes the conversation; later messages get the summary instead. @throws BatonError USAGE if there are no
   * messages
   */
  readonly compact: (watching: Watching, listener: Listener) => Promise<RunReport>
  /** Resumes a message that was interrupted or waits. @throws BatonError as `resumeRun` does */
  readonly resume: (run: string, watching: Watching, listener: Listener) => Promise<RunReport>
  /** Its current messages, oldest first. */
  readonly messages: () => Promise<readonly ChatMessage[]>
}

interface ChatMessage extends ListedMessage {
  readonly summary: RunSummary
}

/** The request size in tokens from which a chat is summarized. */
const usualCompactAt = 100_000

const summaryInstruction = modelText`Sum up our conversation so far for yourself, so that you can continue it without reading it again: what I want and why, what was decided, what was done (with the names of files, functions and commands), what was found out, what is still open, and how I want you to work. Keep every fact that later work may need; omit what is settled and no longer needed. Do not call any tools. Answer with the summary only.`

/** @param place where its runs work */
export function openChat(place: Place, settings: ChatSettings): Chat {
  return createChat(place, {
    settings,
    runs: undefined,
    id: undefined,
    last: undefined,
    tokens: 0,
    modelOfFile: undefined,
  })
}

/**
 * Finds a chat of this workspace by its id, the start of its id, or `last`.
 * @param changed new settings; the others are those of its latest message
 * @throws BatonError USAGE if there is none
 */
export async function reopenChat(place: Place, id: string, changed: Partial<ChatSettings> = {}): Promise<Chat> {
  const runs = await runsOf(place, changed.overrides ?? [])
  const found = findChat(runs, id)
  const inLine = found.messages.filter(({ kind }) => kind !== 'background')
  const last = inLine.at(-1)?.run
  const from = (inLine.findLast(({ kind }) => kind === 'message') ?? found.messages.at(-1))?.run ?? ''
  const summary = last === undefined ? undefined : await readRunSummary(join(runs, last))
  const calls = Math.max(1, summary?.calls ?? 1)
  return createChat(place, {
    settings: { ...(await settingsOf(join(runs, from), createMask(place.env))), ...defined(changed) },
    runs,
    id: found.id,
    last,
    // the size of its latest request is not known; requests usually grow from the first to the last
    tokens: (summary?.tokens.input ?? 0) / calls,
    // a gateway gets every name verbatim
    modelOfFile: summary?.models.at(-1)?.replace(/^gateway::/, ''),
  })
}

interface Beginning {
  readonly settings: ChatSettings
  readonly runs: string | undefined
  readonly id: string | undefined
  readonly last: string | undefined
  readonly tokens: number
  /** The model named by the prompt file or the config. */
  readonly modelOfFile: string | undefined
}

function createChat(place: Place, begin: Beginning): Chat {
  const mask = createMask(place.env)
  let { settings, id, last, tokens, modelOfFile } = begin
  let compactAt = usualCompactAt
  let notes: readonly string[] = []

  const runs = async (): Promise<string> => begin.runs ?? runsOf(place, settings.overrides)

  async function send(
    { text, kind = 'message', model: ownModel, overrides: own = [] }: Outgoing,
    { onBegin, ...watching }: Watching,
    listener: Listener,
  ): Promise<RunReport> {
    const run = newRunId(new Date())
    const { file, model, vars, overrides } = settings
    const defaults = file === undefined ? await defaultOverrides(place, overrides) : []
    const told = notes
    const said =
      text === undefined || told.length === 0 ? text : [...told.map((note) => `[${note}]`), text].join('\n\n')
    const flags = kind === 'summary' ? ['tools=[]'] : own
    const folder = await runs()
    const isInLine = kind !== 'background'
    const options: StartOptions = {
      ...place,
      ...watching,
      id: run,
      overrides: [...overrides, ...defaults, ...flags],
      chat: {
        id: id ?? run,
        ...defined({ after: last }),
        ...(kind === 'summary' ? { isSummary: true } : {}),
        ...(isInLine ? {} : { isBackground: true }),
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
        compactAt = target.settings.chat?.compact_at ?? usualCompactAt
        if (kind === 'message') modelOfFile = target.settings.model
        return target
      },
      onRecord() {
        id ??= run
        if (isInLine) {
          last = run
          notes = notes.slice(told.length)
        }
        listMessage(folder, id, { kind, run, at: Date.now(), text: mask.hide(text ?? file ?? '') })
        onBegin?.(run)
      },
    }
    const report = await startRun(kind === 'summary' ? 'summary' : (file ?? 'chat'), options, (event, result) => {
      if (isInLine && event.type === 'usage' && isOfMainAgent(event.agent)) {
        tokens = event.call.input + event.call.output
      }
      listener(event, result)
    })
    // the next message starts with the summary
    if (kind === 'summary' && report.exitCode === 0) tokens = 0
    return report
  }

  return {
    id: () => id,
    settings: () => settings,
    change: (changed) => void (settings = { ...settings, ...changed }),
    last: () => last,
    note: (text) => void (notes = [...notes, text]),
    isLong: () => tokens > compactAt,
    send,
    async compact(watching, listener) {
      if (last === undefined) throw new BatonError('USAGE', 'there are no messages yet to summarize')
      return send({ kind: 'summary', text: summaryInstruction }, watching, listener)
    },
    async resume(run, { signal, isAttended, approver, askPerson }, listener) {
      const { resumeRun } = await import('../wiring/resume.ts')
      const looking = defined({ signal, isAttended, approver, askPerson })
      return resumeRun({ ...place, ...looking, folder: join(await runs(), run) }, listener)
    },
    async messages() {
      const folder = await runs()
      if (id === undefined) return []
      const listed = findChat(folder, id).messages
      const all = await Promise.all(
        listed.map(async (message) => ({ message, summary: await readRunSummary(join(folder, message.run)) })),
      )
      return all.flatMap(({ message, summary }) => (summary === undefined ? [] : [{ ...message, summary }]))
    },
  }
}

function isOfMainAgent(place: string): boolean {
  return /^(?:redo\/\d+\/)?task\/\d+\/ask$/.test(place)
}

async function runsOf({ env, home, cwd }: Place, overrides: readonly string[]): Promise<string> {
  const { workspace, settings } = await loadTargetConfig({ env, home, cwd, flags: { overrides } })
  return runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
}

/** The start settings of a message's run that apply to the next one as well. */
async function settingsOf(folder: string, mask: SecretMask): Promise<ChatSettings> {
  const start = (await glance(folder))?.start
  // a long message is stored in a separate file
  const facts = start && (await readValue(start.facts, { folder, mask }))
  const invocation = invocationOf(facts)
  if (invocation === undefined) return { overrides: [] }
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
