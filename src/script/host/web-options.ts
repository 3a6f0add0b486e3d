import type { LuaValue } from '../engine.ts'
import {
  argumentError,
  flagOption,
  integer,
  isTable,
  type LuaTable,
  luaTypeName,
  optionsTable,
  text,
} from './arguments.ts'
import { millisecondsOption } from './time-limit.ts'

export const userAgents = {
  aipack: 'aipack',
  browser:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
} as const

export interface WebOptions {
  readonly headers: readonly (readonly [string, string])[]
  readonly redirectLimit: number
  readonly timeLimitMs: number
  /** Whether JSON is read. */
  readonly parse: boolean
}

/** The options of `aip.web.get` and `post` (spec/aipack.md 6.2); ours beyond AIPack: `timeout_ms` (2 minutes). */
export function readWebOptions(value: LuaValue, name: string): WebOptions {
  const options = optionsTable(value, name)
  const limit = options['redirect_limit']
  const redirectLimit = limit === undefined || limit === null ? 5 : integer(limit, name, 'the option redirect_limit')
  if (redirectLimit < 0) throw argumentError(name, 'the option redirect_limit must not be negative')
  return {
    headers: withUserAgent(headersOf(options['headers'], name), options, name),
    redirectLimit,
    timeLimitMs: millisecondsOption(options, 'timeout_ms', name) ?? 120_000,
    parse: flagOption(options, 'parse', name),
  }
}

function headersOf(value: LuaValue, name: string): readonly (readonly [string, string])[] {
  return Object.entries(optionsTable(value, name)).flatMap(([header, given]) => {
    const what = `the header ${header}`
    const values = Array.isArray(given) ? (given as readonly LuaValue[]) : [given]
    if (isTable(given) && !Array.isArray(given))
      throw argumentError(name, `${what} must be a string or a list of strings`)
    return values.map((item) => checkedHeader(header, text(item, name, what), name))
  })
}

function checkedHeader(header: string, value: string, name: string): readonly [string, string] {
  try {
    new Headers([[header, value]])
    return [header, value]
  } catch {
    // the value may be a secret
    throw argumentError(name, `the header ${JSON.stringify(header)} has a name or a value that HTTP cannot send`)
  }
}

/** The option wins over a header; `true` is the name of AIPack, `false` sends an empty one. */
function withUserAgent(headers: WebOptions['headers'], options: LuaTable, name: string): WebOptions['headers'] {
  const given = userAgentOption(options['user_agent'], name)
  const others = headers.filter(([header]) => header.toLowerCase() !== 'user-agent')
  const [own] = headers.filter(([header]) => header.toLowerCase() === 'user-agent')
  return [...others, checkedHeader('user-agent', given ?? own?.[1] ?? userAgents.aipack, name)]
}

function userAgentOption(value: LuaValue, name: string): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? userAgents.aipack : ''
  throw argumentError(name, `the option user_agent must be a string, true or false, but was ${luaTypeName(value)}`)
}
