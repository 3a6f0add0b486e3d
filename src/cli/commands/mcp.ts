import { createPool } from '../../base/concurrency.ts'
import { BatonError } from '../../base/error.ts'
import { leftOutCode, leftOutHint, ownerOf, whyLeftOut } from '../../config/left-out-servers.ts'
import type { AskPerson } from '../../event/mcp.ts'
import { createAnswerer } from '../approver.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, openWorkplace, type Workplace } from '../io.ts'
import { openServersHere, type ServersHere } from '../servers-here.ts'

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
    if (action === 'list') return await (await import('./mcp-list.ts')).listServers(flags, context)
    refuseUnused(server, here)
    if (action === 'login') return await (await import('./mcp-login.ts')).logIn(server, flags, context)
    if (action === 'logout') return await (await import('./mcp-login.ts')).logOut(server, context)
    if (action === 'tools') return await (await import('./mcp-tools.ts')).showTools(server, context)
    return await (await import('./mcp-call.ts')).callTool({ server, tool, person }, flags, context)
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
  ).find((flag) => !own.includes(flag) && isGiven(flags[flag]))
  if (foreign === undefined) return
  const of = (Object.keys(actions) as Action[]).find((other) => actions[other].flags.includes(foreign))
  throw usageError(
    `--${foreign.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)} is not a flag of baton mcp ${action}`,
    `It belongs to baton mcp ${of}.`,
  )
}

function isGiven(value: string | boolean | undefined): boolean {
  return value !== undefined && value !== false
}

/** @throws BatonError UNTRUSTED, USAGE for a server that the settings name but that is not used */
function refuseUnused(name: string, { service, tables, leftOut }: ServersHere): void {
  if (service.servers.some((server) => server.name === name)) return
  const file = leftOut.find(({ names }) => names.includes(name))
  if (file !== undefined) {
    const message = `the server ${name} of ${ownerOf(file)} is left out: ${whyLeftOut(file)}`
    throw new BatonError(leftOutCode(file), message, { hint: leftOutHint(file), place: { file: file.file } })
  }
  if (tables[name] !== undefined) {
    throw usageError(
      `the server ${name} is disabled`,
      'Remove enabled = false; baton mcp list shows where the server is defined.',
    )
  }
}
