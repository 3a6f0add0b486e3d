import { isObject, type JsonObject } from '../../base/json.ts'
import type { Emit } from './format.ts'
import { argumentsText, type Fields, madeUpId, objectAt, textAt } from './reading.ts'

/** The tool calls of a chat completion that is being read. */
export interface ChatCalls {
  /** The list `tool_calls` of one chunk or message. */
  read(pieces: readonly unknown[]): void
  end(): void
  /** The number of calls that belong to the answer. */
  count(): number
}

interface ChatCall {
  readonly block: number
  readonly index: number | undefined
  /** As the server sent it; empty if it has not. */
  id: string
  /** The same, or what stands in for it. */
  readonly givenId: string
  name: string
  readonly input: ArgumentsReader
  /** The list of pieces in which it was last named. */
  namedIn: unknown
}

/** One piece of a call, as received. */
interface Piece {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly input: string
}

interface Answer {
  /** Starts a block and returns its number. */
  readonly begin: () => number
  readonly answerId: () => string
}

/**
 * Reads tool calls in all the ways in which servers number and name them. By the standard, the pieces of a call have
 * its index, and the first one has its id and name. Many servers use one index for all calls or none, omit ids, repeat
 * ids and names in each piece, or send them late. Therefore a piece starts a call if it cannot belong to an earlier one:
 * because it has another id or name, or because the arguments of that call are complete.
 */
export function createChatCalls(emit: Emit, { begin, answerId }: Answer): ChatCalls {
  const calls: ChatCall[] = []
  /** Calls of servers that number the start and the rest of one call differently. */
  const moved = new Map<number, ChatCall>()
  /** The name of a call that starts with a later piece. */
  let upcoming = ''

  function read(pieces: readonly unknown[]): void {
    for (const given of pieces) {
      if (!isObject(given)) continue
      const piece = pieceOf(given)
      const call = callOf(piece, pieces)
      if (call === undefined) start(piece, given, pieces)
      else extend(call, piece, pieces)
    }
  }

  /** The earlier call that a piece belongs to; undefined if it starts one. */
  function callOf(piece: Piece, list: unknown): ChatCall | undefined {
    const call = candidate(piece)
    if (call === undefined) return undefined
    const isOther = isOtherId(piece, call)
    if (piece.name !== '') {
      if (call.namedIn === list) return undefined
      const differs = isOther || (call.name !== '' && call.name !== piece.name)
      if (differs && !isRest(piece, call)) return undefined
    }
    if (!call.input.isComplete() || !opens(piece)) return call
    // a further call, unless the server repeats the arguments or sends them after a placeholder
    if (isOther) return undefined
    const isRepeated = piece.id !== '' && piece.id === call.id && call.input.isSame(piece.input)
    return isRepeated || isAfterPlaceholder(piece, call) ? call : undefined
  }

  /** The earlier call that a piece refers to by its index or id, or because it follows it. */
  function candidate({ index, id, name }: Piece): ChatCall | undefined {
    const byId = id === '' ? undefined : calls.findLast((call) => call.id === id)
    if (index === undefined) return byId ?? calls.at(-1)
    const byIndex = moved.get(index) ?? calls.findLast((call) => call.index === index)
    if (byIndex !== undefined) return byId?.index === index ? byId : byIndex
    // the index of a new call, unless the piece has nothing that starts one
    const last = byId ?? calls.at(-1)
    if (last === undefined || last.input.isComplete()) return undefined
    if (id !== '' && byId === undefined) return undefined
    if (name !== '' && !(byId?.name === name && byId.input.isBlank())) return undefined
    moved.set(index, last)
    return last
  }

  function start(piece: Piece, given: Fields, list: unknown): void {
    const { index, id, input } = piece
    const name = piece.name || upcoming
    upcoming = ''
    // ids must be unique, because results refer to them
    const ownId = calls.some((call) => call.givenId === id) ? '' : id
    const givenId = ownId || madeUpId(answerId(), calls.length)
    const call: ChatCall = {
      block: begin(),
      index,
      id: ownId,
      givenId,
      name,
      input: createArgumentsReader(input),
      namedIn: piece.name === '' ? undefined : list,
    }
    calls.push(call)
    if (index !== undefined) moved.delete(index)
    emit({ type: 'tool_call', block: call.block, id: givenId, ...(name === '' ? {} : { name }), input })
    const data = extrasOf(given)
    if (data === undefined) return
    emit({ type: 'provider', block: call.block, part: 'tool_call', provider: { format: 'chat', data } })
  }

  function extend(call: ChatCall, piece: Piece, list: unknown): void {
    const { id, name } = piece
    const isNamed = call.name === '' && name !== ''
    const isKnown = call.id === '' && id !== '' && !calls.some((other) => other.id === id)
    const isRepeated = call.input.isComplete() && call.input.isSame(piece.input)
    if (name !== '' && !isNamed && call.input.isComplete() && piece.input.trim() === '') upcoming = name
    if (name !== '') call.namedIn = list
    if (isNamed) call.name = name
    if (isKnown) call.id = id
    const input = isRepeated ? '' : piece.input
    const news = { ...(isKnown ? { id } : {}), ...(isNamed ? { name } : {}) }
    if (isAfterPlaceholder(piece, call)) {
      emit({ type: 'discard', block: call.block })
      call.input.clear()
      emit({ type: 'tool_call', block: call.block, id: call.id || call.givenId, name: call.name, input })
    } else {
      emit({ type: 'tool_call', block: call.block, ...news, input })
    }
    call.input.add(input)
  }

  return {
    read,
    /** A call that got neither a name nor arguments is none. */
    end() {
      for (const { name, input, block } of calls) {
        if (name === '' && input.isBlank()) emit({ type: 'discard', block })
      }
    },
    count: () => calls.filter(({ name, input }) => name !== '' || !input.isBlank()).length,
  }
}

function isOtherId(piece: Piece, call: ChatCall): boolean {
  return piece.id !== '' && call.id !== '' && piece.id !== call.id
}

/** Whether the arguments of a piece begin an object of their own. */
function opens({ input }: Piece): boolean {
  return input.trimStart().startsWith('{')
}

/** Whether the arguments of a piece can only be the rest of those of the call. */
function isRest(piece: Piece, { input }: ChatCall): boolean {
  return !input.isBlank() && !input.isComplete() && piece.input.trim() !== '' && !opens(piece)
}

/** Some servers send `{}` first, and then the arguments. */
function isAfterPlaceholder(piece: Piece, call: ChatCall): boolean {
  return piece.name === '' && !isOtherId(piece, call) && opens(piece) && call.input.isSame('{}')
}

function pieceOf(given: Fields): Piece {
  const { index } = given
  const called = objectAt(given, 'function')
  const { arguments: written } = called
  // an empty object is the placeholder of some servers for arguments that follow as text
  const isPlaceholder = isObject(written) && Object.keys(written).length === 0
  return {
    index: typeof index === 'number' && Number.isInteger(index) && index >= 0 ? index : undefined,
    id: textAt(given, 'id'),
    name: textAt(called, 'name'),
    input: isPlaceholder ? '' : argumentsText(written),
  }
}

/** Fields of a call that OpenAI does not have, for example the signature of a thought. */
function extrasOf(call: Fields): JsonObject | undefined {
  const own = ['index', 'id', 'type', 'function']
  const extras = Object.entries(call as JsonObject).filter(([key, value]) => !own.includes(key) && value !== null)
  return extras.length === 0 ? undefined : Object.fromEntries(extras)
}

/** Watches arguments that arrive in pieces for the end of their JSON object, without parsing them again each time. */
interface ArgumentsReader {
  add(text: string): void
  clear(): void
  isBlank(): boolean
  /** Whether an object was opened and closed. */
  isComplete(): boolean
  /** Whether the text is what was received so far. */
  isSame(text: string): boolean
}

function createArgumentsReader(first: string): ArgumentsReader {
  let pieces: string[] = []
  let depth = 0
  let inText = false
  let isEscaped = false
  let isBlank = true
  let isComplete = false

  function add(text: string): void {
    if (text === '') return
    pieces.push(text)
    isBlank &&= text.trim() === ''
    for (let at = 0; at < text.length; at += 1) read(text.charCodeAt(at))
  }

  function read(code: number): void {
    if (isEscaped) {
      isEscaped = false
    } else if (inText) {
      if (code === 92) isEscaped = true
      else if (code === 34) inText = false
    } else if (code === 34) {
      inText = true
    } else if (code === 123 || code === 91) {
      depth += 1
    } else if (code === 125 || code === 93) {
      depth -= 1
      isComplete ||= depth === 0
    }
  }

  add(first)
  return {
    add,
    clear() {
      pieces = []
      isComplete = false
    },
    isBlank: () => isBlank,
    isComplete: () => isComplete,
    isSame: (text) => pieces.join('') === text,
  }
}
