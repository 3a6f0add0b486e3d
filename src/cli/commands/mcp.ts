import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createPool } from '../../base/concurrency.ts'
import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import {
  type UnusedReason,
  unusedServerCode,
  unusedServerHint,
  ownerOf,
  unusedReasonText,
} from '../../config/unused-servers.ts'
import type { AskPerson, McpContent, McpPrompt, McpResource, McpResult, McpTool } from '../../event/mcp.ts'
import { createAnswerer } from '../approver.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, isWatched, jsonLine, openWorkplace, type Workplace } from '../io.ts'
import { openServersHere, type ServersHere } from '../servers-here.ts'
import { defined, isJsonObject, type Json, type JsonObject, parseSentJson } from '../../base/json.ts'
import { harmlessName, safeJson } from '../../base/terminal-text.ts'
import { cutEnd } from '../../base/width.ts'
import { createProgressThrottle } from '../../mcp/progress.ts'
import { questionsTo } from '../../mcp/questions.ts'
import { progressText } from '../../render/tool-text.ts'
import { shownServer } from '../../config/shown-server.ts'
import { countOf } from '../../render/format.ts'

type Action = NonNullable<Flags<'mcp'>['action']>

/** The context of every action of `baton mcp` that calls servers. */
export interface McpContext extends Workplace, ServersHere {
  readonly io: CommandIo
}

interface ActionSpec {
  /** The number of words after the name of the action, and what they are. */
  readonly count: number | 'any'
  readonly words: string
  /** The flags of this action that not every action has. */
  readonly flags: readonly (keyof Flags<'mcp'>)[]
}

const actions: { readonly [action in Action]: ActionSpec } = {
  list: { count: 0, words: '', flags: ['check', 'names'] },
  tools: { count: 1, words: 'SERVER', flags: [] },
  call: { count: 2, words: 'SERVER TOOL', flags: ['args', 'output', 'noInput'] },
  login: { count: 1, words: 'SERVER', flags: ['noBrowser'] },
  logout: { count: 1, words: 'SERVER', flags: [] },
  serve: { count: 'any', words: 'FILE...', flags: ['port', 'model', 'timeout'] },
}

/** `baton mcp ACTION`: uses the MCP servers of the settings without a run, or serves files. Returns the exit code. */
export async function mcpCommand(flags: Flags<'mcp'>, io: CommandIo): Promise<number> {
  const { action = 'list', words } = flags
  refuseForeignFlags(flags, action)
  const { count, words: shape } = actions[action]
  if (count !== 'any' && words.length !== count) {
    throw usageError(
      `baton mcp ${action} takes ${shape === '' ? 'no name' : shape}`,
      'baton mcp list lists the servers.',
    )
  }
  if (action === 'serve') return (await import('./mcp-serve.ts')).serveFiles(words, flags, io)
  const workplace = openWorkplace(flags, io)
  const person = action === 'call' ? personAt(flags, { ...io, cwd: workplace.cwd }) : undefined
  const here = await openServersHere(flags, io, {
    canAsk: person !== undefined,
    onNotice({ server, level, text }) {
      if (level === 'warning' || flags.level === 'verbose') workplace.note(`${server}: ${text}\n`)
    },
  })
  const context: McpContext = { io, ...workplace, ...here }
  const [server = '', tool = ''] = words
  try {
    if (action === 'list') return await listServers(flags, context)
    refuseUnused(server, here)
    if (action === 'login') return await (await import('./mcp-login.ts')).logIn(server, flags, context)
    if (action === 'logout') return await (await import('./mcp-login.ts')).logOut(server, context)
    if (action === 'tools') return await showTools(server, context)
    return await callTool({ server, tool, person }, flags, context)
  } finally {
    await here.service.close()
  }
}

/** Answers questions of a server during a call; undefined if standard input is not a terminal. */
function personAt({ noInput, json }: Flags<'mcp'>, io: CommandIo): AskPerson | undefined {
  if (io.inputKind() !== 'device') return undefined
  return createAnswerer({ yes: false, noInput, json }, { ...io, hold: () => () => {}, turn: createPool(1) })
}

function refuseForeignFlags(flags: Flags<'mcp'>, action: Action): void {
  const own = actions[action].flags
  const foreign = (
    ['check', 'names', 'args', 'output', 'noBrowser', 'noInput', 'port', 'model', 'timeout'] as const
  ).find((flag) => !own.includes(flag) && isSet(flags[flag]))
  if (foreign === undefined) return
  const of = (Object.keys(actions) as Action[]).find((other) => actions[other].flags.includes(foreign))
  throw usageError(
    `--${foreign.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)} is not a flag of baton mcp ${action}`,
    `It belongs to baton mcp ${of}.`,
  )
}

function isSet(value: string | boolean | undefined): boolean {
  return value !== undefined && value !== false
}

/** @throws BatonError UNTRUSTED, USAGE for a server that the settings name but that is not used */
function refuseUnused(name: string, { service, tables, leftOut }: ServersHere): void {
  if (service.servers.some((server) => server.name === name)) return
  const file = leftOut.find(({ names }) => names.includes(name))
  if (file !== undefined) {
    const message = `the server ${name} of ${ownerOf(file)} is left out: ${unusedReasonText(file)}`
    throw new BatonError(unusedServerCode(file), message, { hint: unusedServerHint(file), place: { file: file.file } })
  }
  if (tables[name] !== undefined) {
    throw usageError(
      `the server ${name} is disabled`,
      'Remove enabled = false; baton mcp list shows where the server is defined.',
    )
  }
}

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
  const progress = createProgressThrottle((told) => shown.write(progressText(told)))
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

interface Row {
  readonly name: string
  readonly transport?: string
  /** The program that is started, or the URL that is called. */
  readonly target?: string
  readonly state: 'on' | 'off' | 'replaced' | 'undeclared' | 'untrusted' | 'changed' | 'unusable' | 'ok' | 'failed'
  readonly origin: string
  /** What is wrong with it; of a server that is on, with --check. */
  readonly error?: string
  readonly hint?: string | undefined
  readonly server?: string
  readonly tools?: number
}

/** Lists the servers of the settings, one line each; with `--check` connects to them, and returns 1 if one fails. */
export async function listServers({ check, names, json }: Flags<'mcp'>, context: McpContext): Promise<number> {
  const { service, io } = context
  if (names) {
    for (const { name } of service.servers) io.out(`${name}\n`)
    return 0
  }
  const rows = [...usedRows(context), ...offRows(context), ...replacedRows(context), ...leftOutRows(context)]
  const shown = check ? await Promise.all(rows.map((row) => checked(row, context))) : rows
  if (json) for (const row of shown) io.out(jsonLine(row))
  else print(shown, context)
  return shown.some(({ state }) => state === 'failed') ? 1 : 0
}

function usedRows({ service, tables, hide }: McpContext): readonly Row[] {
  return service.servers.map(({ name, origin }) => ({
    name,
    ...reached(tables[name] ?? {}, hide),
    state: 'on',
    origin,
  }))
}

function offRows({ tables, originOf, hide }: McpContext): readonly Row[] {
  return Object.entries(tables).flatMap(([name, table]): readonly Row[] =>
    table.enabled === false ? [{ name, ...reached(table, hide), state: 'off', origin: originOf(name) }] : [],
  )
}

function leftOutRows({ leftOut }: McpContext): readonly Row[] {
  return leftOut.flatMap(({ names, ...why }) =>
    // the names in a file that cannot be read are unknown
    (names.length === 0 ? ['-'] : names).map((name): Row => ({
      name,
      state: leftOutState(why),
      origin: why.file,
      ...(why.problem === undefined ? {} : { error: why.problem }),
      hint: unusedServerHint(why),
    })),
  )
}

function leftOutState({ isUndeclared, isChanged, problem }: UnusedReason): Row['state'] {
  if (problem !== undefined) return 'unusable'
  if (isUndeclared === true) return 'undeclared'
  return isChanged ? 'changed' : 'untrusted'
}

function replacedRows({ replaced }: McpContext): readonly Row[] {
  return replaced.map(({ name, origin, by }): Row => ({
    name,
    state: 'replaced',
    origin,
    hint: `The server of the same name in ${by} is used instead.`,
  }))
}

/** As written, without secrets: variables are resolved when the server is started. */
function reached(
  table: McpContext['tables'][string],
  hide: (text: string) => string,
): Pick<Row, 'transport' | 'target'> {
  const { type, command, args = [], url } = shownServer(table as never) as typeof table
  if (command !== undefined) return { transport: 'stdio', target: hide([command, ...args].join(' ')) }
  return url === undefined ? {} : { transport: type ?? 'http', target: hide(url.replace(/[?#].*$/s, '')) }
}

async function checked(row: Row, { service, io, hide }: McpContext): Promise<Row> {
  if (row.state !== 'on') return row
  try {
    const tools = await service.tools(row.name, io.signal)
    const { name = '', version = '' } = service.about(row.name) ?? {}
    return { ...row, state: 'ok', server: `${name} ${version}`.trim(), tools: tools.length }
  } catch (error) {
    io.signal.throwIfAborted()
    const hint = isBatonError(error) ? error.hint : undefined
    return { ...row, state: 'failed', error: hide(messageOf(error)), hint: hint === undefined ? undefined : hide(hint) }
  }
}

const states = {
  on: '',
  off: 'off',
  replaced: 'replaced by yours',
  undeclared: 'not named by the pack',
  untrusted: 'not trusted',
  changed: 'changed since it was trusted',
  unusable: 'not usable',
  ok: 'ok',
  failed: 'failed',
} as const
const colors = {
  on: 'dim',
  off: 'dim',
  replaced: 'dim',
  undeclared: 'yellow',
  untrusted: 'yellow',
  changed: 'yellow',
  unusable: 'yellow',
  ok: 'green',
  failed: 'red',
} as const

function print(rows: readonly Row[], { io, paint, width, note }: McpContext): void {
  if (rows.length === 0) note('no MCP servers: add [mcp_servers.NAME] to your config file, see docs/mcp.md\n')
  const column = (texts: readonly string[]): number => Math.min(32, Math.max(0, ...texts.map(({ length }) => length)))
  const nameWidth = column(rows.map(({ name }) => name))
  const originWidth = column(rows.map(({ origin }) => origin))
  for (const { name, transport = '-', target = '', state, origin, error, hint, server, tools } of rows) {
    const about = server === undefined ? '' : ` (${server}, ${countOf(tools ?? 0, 'tool')})`
    const start = `${harmlessName(name).padEnd(nameWidth)}  ${transport.padEnd(5)}  ${harmlessName(origin).padEnd(originWidth)}`
    const note = states[state] === '' ? '' : `  ${paint(colors[state], states[state])}${harmlessName(about)}`
    io.out(
      `${start}${note}${target === '' ? '' : `  ${paint('dim', cutEnd(harmlessName(target), width))}`}`.trimEnd() +
        '\n',
    )
    if (error !== undefined) io.out(`  ${harmlessName(error)}\n`)
    if (hint !== undefined) io.out(`  ${paint('cyan', 'hint')}: ${harmlessName(hint)}\n`)
  }
}

/** Shows what a server offers: its tools with their parameters, its resources and its prompts. */
export async function showTools(server: string, { service, io, print, paint, note }: McpContext): Promise<number> {
  const { signal } = io
  const tools = await service.tools(server, signal)
  const resources = await service.resources(server, signal)
  const prompts = await service.prompts(server, signal)
  const { instructions } = service.about(server) ?? {}
  if (instructions !== undefined) note(`${server} says: ${harmlessName(oneLine(instructions))}\n`)
  const bold = (text: string): string => paint('bold', harmlessName(text))
  for (const tool of tools) print({ kind: 'tool', server, ...tool }, () => describeTool(tool, bold))
  for (const resource of resources)
    print({ kind: 'resource', server, ...resource }, () => describeResource(resource, bold))
  for (const prompt of prompts) print({ kind: 'prompt', server, ...prompt }, () => describePrompt(prompt, bold))
  return 0
}

type Bold = (text: string) => string

function describeTool(
  { name, title, description, input, readOnly, destructive, onlyAsTask }: McpTool,
  bold: Bold,
): string {
  const facts = [readOnly === true ? 'only reads' : '', destructive === true && readOnly !== true ? 'destructive' : '']
  const said = facts.filter((fact) => fact !== '').join(', ')
  const head = `${bold(name)}${line(description ?? title)}${said === '' ? '' : ` (${said}, according to the server)`}\n`
  const cannot = onlyAsTask === true ? '  runs only as an MCP task, which Baton does not support\n' : ''
  return `${head}${cannot}${parameterLines(input)}`
}

function parameterLines({ properties = {}, required = [] }: JsonObject): string {
  if (!isJsonObject(properties)) return ''
  const isRequired = (name: string): boolean =>
    Array.isArray(required) && (required as readonly unknown[]).includes(name)
  return Object.entries(properties)
    .map(([name, schema]) => {
      const { type, description } = isJsonObject(schema) ? schema : {}
      const kind = typeof type === 'string' ? ` ${type}` : ''
      return `  ${harmlessName(name)}:${harmlessName(kind)}${isRequired(name) ? '' : ', optional'}${line(description)}\n`
    })
    .join('')
}

function describeResource({ uri, name, description, mimeType, isTemplate }: McpResource, bold: Bold): string {
  const what = `${isTemplate === true ? 'resources' : 'resource'}${mimeType === undefined ? '' : ` of type ${harmlessName(mimeType)}`}`
  return `${bold(uri)}: ${what}${line(description ?? name)}\n`
}

function describePrompt({ name, title, description, arguments: given }: McpPrompt, bold: Bold): string {
  const values = given.map(({ name: value, required }) => (required === true ? value : `[${value}]`)).join(' ')
  return `${bold(name)}: prompt${values === '' ? '' : ` ${harmlessName(values)}`}${line(description ?? title)}\n`
}

function line(text: unknown): string {
  return typeof text === 'string' && text !== '' ? `: ${harmlessName(oneLine(text))}` : ''
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
