import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { messageOf } from '../../base/error.ts'
import { defined, isJsonObject, type Json, type JsonObject, parseSentJson } from '../../base/json.ts'
import { harmlessName, safeJson } from '../../base/terminal-text.ts'
import { cutEnd } from '../../base/width.ts'
import type { AskPerson, McpContent, McpResult } from '../../event/mcp.ts'
import { createProgressTeller } from '../../mcp/progress.ts'
import { questionsTo } from '../../mcp/questions.ts'
import { progressText } from '../../render/tool-text.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, isWatched } from '../io.ts'
import type { McpContext } from './mcp.ts'

export interface CalledTool {
  readonly server: string
  readonly tool: string
  /** Answers questions of the server during the call; undefined: nobody does. */
  readonly person: AskPerson | undefined
}

/**
 * Calls one tool and prints its result: text verbatim; images, audio and other bytes go to files, whose paths are
 * printed. Exit code 1 if the tool reports a failure.
 */
export async function callTool(
  { server, tool, person }: CalledTool,
  flags: Flags<'mcp'>,
  { service, io, cwd, print, note }: McpContext,
): Promise<number> {
  const { args, output } = flags
  const input = readArguments(args)
  const shown = progressLine(flags, io)
  const progress = createProgressTeller((told) => shown.write(progressText(told)))
  const asked: AskPerson | undefined = person && ((...question) => person(...question).finally(shown.hold()))
  const onQuestion = asked && questionsTo(asked, server, io.signal)
  const result = await service
    .call(server, tool, input, { signal: io.signal, onProgress: progress.tell, ...defined({ onQuestion }) })
    .finally(() => {
      progress.end()
      shown.end()
    })
  const { content, structured, isError = false } = result
  print({ server, tool, content, structured, is_error: isError }, () => {
    const folder = once(() =>
      output === undefined ? mkdtempSync(join(tmpdir(), 'baton-mcp-')) : made(resolve(cwd, output)),
    )
    return textOf(result, (data, type, index) => written(data, join(folder(), `${index + 1}.${endingOf(type)}`)))
  })
  if (isError) note(`the tool ${tool} reports that it failed\n`)
  return isError ? 1 : 0
}

interface ProgressLine {
  readonly write: (text: string) => void
  /** Hides it while a question is on the terminal. Returns the function that shows it again. */
  readonly hold: () => () => void
  readonly end: () => void
}

const noLine: ProgressLine = { write() {}, hold: () => () => {}, end() {} }

/** Shows progress: with -v as lines; else, on a terminal, as one line that disappears when the call ends. */
function progressLine(flags: Flags<'mcp'>, io: CommandIo): ProgressLine {
  if (flags.json || flags.level === 'quiet') return noLine
  if (flags.level === 'verbose') return { ...noLine, write: (text) => io.err(`${text}\n`) }
  if (!isWatched(io)) return noLine
  let isDrawn = false
  let holding = 0
  const clear = (): void => {
    if (isDrawn) io.draw('\r\u001b[K')
    isDrawn = false
  }
  return {
    write(text) {
      if (holding > 0) return
      isDrawn = true
      // the last column stays empty, because some terminals wrap when it is written
      io.draw(`\r${cutEnd(text, io.columns() - 1)}\u001b[K`)
    },
    hold() {
      holding += 1
      clear()
      return () => void (holding -= 1)
    },
    end: clear,
  }
}

/** @throws BatonError USAGE if it is not a JSON object */
function readArguments(text = '{}'): JsonObject {
  let value: Json
  try {
    value = parseSentJson(text)
  } catch (error) {
    throw usageError(
      `--args is not JSON: ${messageOf(error)}`,
      `Write an object, for example --args '{"path": "notes.txt"}'.`,
    )
  }
  if (isJsonObject(value)) return value
  throw usageError('--args is not an object', `Write for example --args '{"path": "notes.txt"}'.`)
}

type Save = (data: string, mimeType: string, index: number) => string

function textOf({ content, structured }: McpResult, save: Save): string {
  // servers usually send structured content as text, too
  const hasText = content.some(({ type }) => type === 'text')
  const pieces = content.map((piece, index) => pieceText(piece, index, save))
  const all = structured === undefined || hasText ? pieces : [...pieces, safeJson(structured, 2)]
  return all.map((text) => (text.endsWith('\n') ? text : `${text}\n`)).join('')
}

function pieceText(piece: McpContent, index: number, save: Save): string {
  switch (piece.type) {
    case 'text':
      return piece.text
    case 'image':
    case 'audio':
      return `${piece.type}: ${save(piece.data, piece.mimeType, index)}`
    case 'resource_link':
      return `${harmlessName(piece.name)}: ${harmlessName(piece.uri)}`
    case 'resource': {
      const { uri, text, blob, mimeType = 'application/octet-stream' } = piece.resource
      return blob === undefined ? (text ?? harmlessName(uri)) : `${harmlessName(uri)}: ${save(blob, mimeType, index)}`
    }
  }
}

/** `image/svg+xml` becomes `svg`. Derived from the type, so that servers cannot choose file names. */
function endingOf(mimeType: string): string {
  return /^\w+\/(?:x-)?([a-z0-9]+)/i.exec(mimeType)?.[1]?.toLowerCase().replace('jpeg', 'jpg') ?? 'bin'
}

function written(data: string, file: string): string {
  writeFileSync(file, Buffer.from(data, 'base64'), { flag: 'wx' })
  return file
}

function made(folder: string): string {
  mkdirSync(folder, { recursive: true })
  return folder
}

function once<T>(make: () => T): () => T {
  let value: { readonly made: T } | undefined
  return () => (value ??= { made: make() }).made
}
