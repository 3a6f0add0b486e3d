import { cutText } from '../../base/cut-text.ts'
import { isJsonObject, type Json, parseSentJson } from '../../base/json.ts'
import { harmless } from '../../base/terminal-text.ts'
import type { ToolUse } from '../../event/agent.ts'
import { emit, type Sender } from '../../event/context.ts'
import { addUsage, noUsage, type Usage } from '../../event/message.ts'
import { placeText } from '../../event/place.ts'
import { createLineReader } from '../../mcp/line-reader.ts'
import type { EventReader, ProgramEvent } from './program-event.ts'

/** What a program has reported so far. */
export interface ProgramReport {
  /** Its answer so far. */
  readonly text: string
  readonly session: string | undefined
  readonly model: string | undefined
  /** Undefined if it did not report its usage. */
  readonly usage: Usage | undefined
  readonly costUsd: number | undefined
  readonly calls: readonly ToolUse[]
  /** Its own error message, if it failed. */
  readonly failure: string | undefined
  /** The first line that is not an event, and the number of such lines. */
  readonly junk: { readonly line: string; readonly count: number } | undefined
}

/** Parses the standard output of a program, sends it as events, and collects its results. */
export interface Listener {
  readonly add: (bytes: Buffer) => void
  /** Call it when there is no more output: it completes an open message. */
  readonly end: () => void
  readonly heard: () => ProgramReport
}

interface Options {
  readonly onText: (text: string) => void
  /** Bytes of its output that are processed. */
  readonly maxBytes: number
}

/** Characters of a tool's output in events. */
const shownOutput = 2_000

/** Listens to a program that prints one JSON event per line. */
export function listenToEvents(reader: EventReader, context: Sender, { onText, maxBytes }: Options): Listener {
  const items = createItems(context, onText)
  const tools = new Map<string, { readonly name: string; readonly input: Json; ended?: ToolUse }>()
  let heard: Omit<ProgramReport, 'text' | 'calls'> & { readonly answer?: string } = {
    session: undefined,
    model: undefined,
    usage: undefined,
    costUsd: undefined,
    failure: undefined,
    junk: undefined,
  }

  function take(said: ProgramEvent): void {
    switch (said.type) {
      case 'session':
        heard = { ...heard, session: said.id || heard.session }
        return
      case 'model':
        heard = { ...heard, model: said.name || heard.model }
        return
      case 'piece':
        return items.piece(said.text)
      case 'message':
        return items.complete(said.text)
      case 'tool': {
        const { id, name, input } = said
        items.complete()
        if (tools.has(id)) return
        tools.set(id, { name, input })
        emit(context, { type: 'tool.started', id, name, input })
        return
      }
      case 'tool_end': {
        const tool = tools.get(said.id)
        if (tool === undefined || tool.ended !== undefined) return
        const { id, isError } = said
        const output = harmless(cutText(said.output, shownOutput))
        const { name, input } = tool
        tool.ended = { id, name, input: JSON.stringify(input), output, ...(isError ? { is_error: true } : {}) }
        emit(context, { type: 'tool.completed', id, name, output, is_error: isError })
        return
      }
      case 'usage': {
        const { usage, costUsd } = heard
        const sum = said.costUsd === undefined ? costUsd : (costUsd ?? 0) + said.costUsd
        heard = { ...heard, usage: addUsage(usage ?? noUsage, said.usage), costUsd: sum }
        return
      }
      case 'answer':
        heard = { ...heard, answer: said.text }
        return
      case 'failed':
        heard = { ...heard, failure: said.message }
    }
  }

  function onLine(line: string): void {
    if (line.trim() === '') return
    const event = eventIn(line)
    if (event !== undefined) return reader(event).forEach(take)
    const { junk } = heard
    heard = { ...heard, junk: { line: junk?.line ?? cutText(harmless(line), 200), count: (junk?.count ?? 0) + 1 } }
  }

  const lines = createLineReader({ maxBytes, onLine, onTooLong: () => {} })
  return {
    add: lines.add,
    end() {
      // the last line may lack a line break
      lines.add(Buffer.from('\n'))
      items.complete()
    },
    heard: () => {
      const { answer, ...others } = heard
      const calls = [...tools.values()].flatMap(({ ended }) => ended ?? [])
      return { ...others, calls, text: answer ?? items.last() }
    },
  }
}

function eventIn(line: string): ReturnType<typeof jsonObjectIn> {
  return line.trimStart().startsWith('{') ? jsonObjectIn(line) : undefined
}

function jsonObjectIn(line: string) {
  try {
    const value = parseSentJson(line)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Listens to a program whose standard output is its answer. */
export function listenToText(context: Sender, { onText }: Options): Listener {
  const items = createItems(context, onText)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return {
    add: (bytes) => items.piece(decoder.decode(bytes, { stream: true })),
    end() {
      items.piece(decoder.decode())
      items.complete()
    },
    heard: () => ({
      text: items.last().replace(/\s+$/, ''),
      session: undefined,
      model: undefined,
      usage: undefined,
      costUsd: undefined,
      calls: [],
      failure: undefined,
      junk: undefined,
    }),
  }
}

/** Sends the messages of a program as items. */
function createItems(context: Sender, onText: (text: string) => void) {
  const place = placeText(context.scope.at)
  let count = 0
  let open: { readonly id: string; readonly pieces: string[] } | undefined
  let last = ''

  function begin(): NonNullable<typeof open> {
    count += 1
    const id = `${place}/message${count === 1 ? '' : `-${count}`}`
    emit(context, { type: 'item.started', item: { id, type: 'agent_message' } })
    return { id, pieces: [] }
  }

  function piece(text: string): void {
    if (text === '') return
    open ??= begin()
    open.pieces.push(text)
    emit(context, { type: 'item.delta', item_id: open.id, text })
    onText(text)
  }

  return {
    piece,
    /** Completes the open message. `text`, if given, replaces its pieces. */
    complete(text?: string): void {
      if (open === undefined) {
        if (text === undefined || text === '') return
        piece(text)
      }
      if (open === undefined) return
      const { id, pieces } = open
      last = text ?? pieces.join('')
      open = undefined
      emit(context, { type: 'item.completed', item: { id, type: 'agent_message', text: last } })
    },
    last: () => last,
  }
}
