import { messageOf, isBatonError } from '../../base/error.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { cutEnd } from '../../base/width.ts'
import { type LeftOut, leftOutHint } from '../../config/left-out-servers.ts'
import { shownServer } from '../../config/shown-server.ts'
import { countOf } from '../../render/format.ts'
import type { Flags } from '../command-specs.ts'
import { jsonLine } from '../io.ts'
import type { McpContext } from './mcp.ts'

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
      hint: leftOutHint(why),
    })),
  )
}

function leftOutState({ isUndeclared, isChanged, problem }: LeftOut): Row['state'] {
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
