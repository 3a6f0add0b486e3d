/** A name that Lua code hands to `require` or `aip.agent.run` as it stands. Lines and columns count from 1. */
export interface NamedCall {
  readonly kind: 'module' | 'agent'
  readonly name: string
  readonly line: number
  readonly column: number
  readonly endColumn: number
}

const comment = String.raw`--\[(?<cm>=*)\[[^]*?\]\k<cm>\]|--[^\n]*`
const longText = String.raw`\[(?<tx>=*)\[[^]*?\]\k<tx>\]`
const quoted = String.raw`"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'`
const module = String.raw`(?<![\w.:])require\s*\(?\s*(?<module>${quoted})(?!\s*\.\.)`
const agent = String.raw`(?<![\w.:])aip\.agent\.run\s*\(\s*(?<agent>${quoted})\s*[,)]`

/**
 * Names of modules and agents in Lua code, in their order. Names that are put together, and what stands in comments and
 * texts, are passed over.
 */
export function namedCalls(code: string): readonly NamedCall[] {
  const calls = code.matchAll(new RegExp([comment, longText, module, agent, quoted].join('|'), 'g'))
  return [...calls].flatMap(({ 0: whole, index, groups = {} }): readonly NamedCall[] => {
    const written = groups['module'] ?? groups['agent']
    const name = written?.slice(1, -1)
    if (written === undefined || name === undefined || name.includes('\\')) return []
    const start = index + whole.indexOf(written)
    const before = code.slice(0, start)
    const column = start - before.lastIndexOf('\n')
    const line = before.split('\n').length
    return [
      {
        kind: groups['module'] === undefined ? 'agent' : 'module',
        name,
        line,
        column,
        endColumn: column + written.length,
      },
    ]
  })
}
