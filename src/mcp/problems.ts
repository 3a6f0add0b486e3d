import { existsSync } from 'node:fs'
import { durationText } from '../base/clock.ts'
import { shellWord } from '../base/command.ts'
import { cutText } from '../base/cut-text.ts'
import { BatonError } from '../base/error.ts'
import { exactHost } from '../base/host-entry.ts'
import { shownUrl } from '../base/shown-url.ts'
import { sizeText } from '../base/size.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import type { McpServer, McpTransport } from '../event/mcp.ts'
import { ConnectionFailure, type ConnectionProblem, type Flood, type ServerEnd } from './connection.ts'
import { isPageAddress } from './login-addresses.ts'
import { fullName } from './names.ts'

/** What the server was asked, as the end of "when asked …". Undefined: to start. */
export type Doing = string | undefined

/**
 * The error of a failed server: which one, what happened, and what to do. `hide` masks secrets. Errors other than
 * ConnectionFailure are returned unchanged.
 */
export function mcpError(
  error: unknown,
  {
    server,
    transport,
    doing,
    maxBytes,
    hide,
  }: {
    readonly server: McpServer
    readonly transport: McpTransport
    readonly doing: Doing
    /** The limit for one message. */
    readonly maxBytes: number
    readonly hide: (text: string) => string
  },
): unknown {
  if (!(error instanceof ConnectionFailure)) return error
  const { message, hint } = problemText(cleaned(error.problem, hide), server, transport, doing, maxBytes)
  return new BatonError('MCP_FAILED', hide(message), { hint: hide(hint), cause: error })
}

/** The problem with its texts masked while they are whole: of a secret that is cut, the rest would be shown. */
function cleaned(problem: ConnectionProblem, hide: (text: string) => string): ConnectionProblem {
  const clean = (text: string): string => hide(harmless(text.slice(0, mostRead)))
  switch (problem.kind) {
    case 'not_started':
    case 'unreachable':
    case 'invalid':
      return { ...problem, reason: clean(problem.reason) }
    case 'refused':
      return { ...problem, message: clean(problem.message) }
    case 'http':
      return { ...problem, text: clean(problem.text) }
    case 'slow_start':
      return { ...problem, words: clean(problem.words) }
    case 'ended':
      return { ...problem, end: { ...problem.end, words: clean(problem.end.words) } }
    case 'foreign':
      return { ...problem, address: clean(problem.address) }
    case 'slow_answer':
    case 'session_lost':
    case 'too_large':
      return problem
  }
}

/** Maximum characters that are read of a text of a server: far more than is shown. */
const mostRead = 100_000

interface ProblemText {
  readonly message: string
  readonly hint: string
}

function problemText(
  problem: ConnectionProblem,
  server: McpServer,
  transport: McpTransport,
  doing: Doing,
  maxBytes: number,
): ProblemText {
  const { origin } = server
  const name = fullName(server)
  const called = `the MCP server ${name}`
  const where = whereText(transport)
  const while_ = doing === undefined ? '' : ` when asked ${harmlessName(doing)}`
  switch (problem.kind) {
    case 'not_started':
      return {
        message: `${called} cannot be started: ${notStarted(problem.reason, transport)}`,
        hint: `Install the program, or change the command in ${origin}.`,
      }
    case 'ended':
      return {
        message: `${called} ${endText(problem.end)}${doing === undefined ? ' before it was ready' : while_}: ${where}${wordsText(problem.end.words)}`,
        hint:
          doing === undefined
            ? `Run the command manually to see why; it is configured in ${origin}.`
            : 'It is restarted when it is needed again. Whether it did what it was asked is unknown.',
      }
    case 'slow_start':
      return {
        message: `${called} was not ready within ${durationText(problem.ms)}: ${where}${wordsText(problem.words)}`,
        hint: `If it needs longer, set startup_timeout_sec in ${origin}.`,
      }
    case 'slow_answer':
      return {
        message: `${called} did not answer within ${durationText(problem.ms)}${while_}`,
        hint: `If it needs longer, set ${problem.limit} in ${origin}.`,
      }
    case 'unreachable':
      return {
        message: `${called} cannot be reached at ${where}${while_}: ${serverText(problem.reason)}`,
        hint: `Check that it is running and that the url in ${origin} is correct.`,
      }
    case 'foreign':
      return {
        message: `${called} names an address for its login that is refused: ${serverText(problem.address)}`,
        hint: foreignHint(problem.address, server, where),
      }
    case 'session_lost':
      return {
        message: `${called} lost its session${while_}: ${where}`,
        hint: 'It may have been restarted. Try again.',
      }
    case 'refused':
      return {
        message: `${called} answered with an error${while_}: ${serverText(problem.message)} (${problem.code})`,
        hint: `baton mcp tools ${name} shows what it offers.`,
      }
    case 'too_large':
      return {
        message: `${called} sent a message larger than ${sizeText(maxBytes)}${while_}`,
        hint: 'Request less data at a time.',
      }
    case 'invalid':
      return {
        message: `${called} sent an invalid answer${while_}: ${serverText(problem.reason)}`,
        hint: `This is a bug in the server at ${where}; another version of it may work.`,
      }
    case 'http':
      return httpProblemText(problem, called, where, server)
  }
}

function httpProblemText(
  { status, text }: ConnectionProblem & { readonly kind: 'http' },
  called: string,
  where: string,
  server: McpServer,
): ProblemText {
  const { origin } = server
  const name = fullName(server)
  if (status === 401) {
    return {
      message: `${called} requires authentication (HTTP 401): ${where}`,
      hint: `Log in with baton mcp login ${name}, or set a key in the headers in ${origin}.`,
    }
  }
  if (status === 403) {
    return {
      message: `${called} denies access (HTTP 403): ${where}${bodyText(text)}`,
      hint: `The account or key in use lacks permission; use a different one with baton mcp login ${name} or in ${origin}.`,
    }
  }
  if (status >= 500 || status === 429) {
    return {
      message: `${called} failed (HTTP ${status}): ${where}${bodyText(text)}`,
      hint: 'This is a server-side problem. Try again later.',
    }
  }
  if (status >= 300 && status < 400) {
    return {
      message: `${called} redirects (HTTP ${status}): ${where}${bodyText(text)}`,
      hint: `If that is correct, set the url in ${origin} to the target of the redirect.`,
    }
  }
  return {
    message: `${called} does not speak MCP at this address (HTTP ${status}): ${where}${bodyText(text)}`,
    hint: `Check the url in ${origin}.`,
  }
}

function endText(end: ServerEnd): string {
  switch (end.kind) {
    case 'exited':
      return `ended with exit code ${end.code}`
    case 'killed':
      return `was killed by ${end.signal}`
    case 'flooded':
      return `was stopped because ${floodText(end.flood)}`
    case 'stopped':
      return 'was stopped'
  }
}

function floodText(flood: Flood): string {
  switch (flood.of) {
    case 'bytes':
      return `it wrote more than ${sizeText(flood.bytes)} without a message`
    case 'messages':
      return 'it sent thousands of messages that nobody asked for'
    case 'levels':
      return 'it sent JSON with thousands of nested levels'
  }
}

function notStarted(reason: string, transport: McpTransport): string {
  if (transport.kind !== 'stdio' || !reason.includes('ENOENT')) return serverText(reason)
  const { command, cwd } = transport
  return existsSync(cwd) ? `there is no program ${command}` : `there is no folder ${cwd}`
}

function whereText(transport: McpTransport): string {
  if (transport.kind !== 'stdio') return shownUrl(new URL(transport.url))
  return cutText([transport.command, ...transport.args].map(shellWord).join(' '), longestLine)
}

/** Text of the server on one line, so that it cannot pass for output of Baton. */
function serverText(words: string): string {
  return cutText(words.replaceAll(/\s+/g, ' ').trim(), mostOfServerText)
}

/** Maximum characters of an error: one that lists every invalid argument is long. */
const mostOfServerText = 4_000

/** The last lines of the server's stderr. */
function wordsText(words: string): string {
  const lines = words.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return ''
  return `\n${lines
    .slice(-mostLines)
    .map((line) => `  ${line.trimEnd().slice(0, longestLine)}`)
    .join('\n')}`
}

const mostLines = 12
const longestLine = 300

function bodyText(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim().slice(0, longestLine)
  return line === '' ? '' : `: ${line}`
}

/** The setting is offered only for an address that it can allow. */
function foreignHint(address: string, { name }: McpServer, where: string): string {
  const rule =
    'Only the host in its url, and authorization servers that it names there, get what a login needs, over https.'
  const host = isPageAddress(address) ? exactHost(new URL(address).host) : undefined
  if (host === undefined) return `${rule} If the address is right, contact whoever runs ${where}.`
  return `${rule} If you trust ${host} with your login, allow it in your config file: auth_hosts = ["${host}"] in [mcp_servers.${name}].`
}
