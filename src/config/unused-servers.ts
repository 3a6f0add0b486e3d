/** Why MCP servers of a file are not used. */
export interface UnusedReason {
  /** The file to look at, as shown to the user. */
  readonly file: string
  /** It was trusted with different content. */
  readonly isChanged: boolean
  /** The pack that brings them, `namespace@name`: they are trusted under its name. */
  readonly pack?: string
  /** The capabilities of the pack do not name them; `file` is its `pack.toml`. Trust does not help. */
  readonly isUndeclared?: true
  /** What is wrong with them in the file, a clause. Trust does not help. */
  readonly problem?: string
}

/** MCP servers of a file that are not used. Without names the file is such that its servers cannot be told. */
export interface UnusedServers extends UnusedReason {
  readonly names: readonly string[]
}

/** MCP servers that the agents of a pack have besides those of the run, by name. */
export interface ServersOfPack {
  /** Those that are used. */
  readonly names: readonly string[]
  readonly leftOut: readonly UnusedServers[]
}

/** The text about servers that are left out. */
export function unusedServersText({ names, ...why }: UnusedServers): string {
  const of = ownerOf(why)
  if (names.length === 0) return `${of} is left out: ${unusedReasonText(why)}`
  const which =
    names.length === 1 ? `the server ${names[0]} of ${of} is` : `the servers ${names.join(', ')} of ${of} are`
  return `${which} left out: ${unusedReasonText(why)}`
}

/** The owner of the servers: a file or a pack. */
export function ownerOf({ file, pack }: Pick<UnusedReason, 'file' | 'pack'>): string {
  return pack ?? file
}

/** A clause: `the file is not trusted`. */
export function unusedReasonText({ file, isChanged, pack, isUndeclared, problem }: UnusedReason): string {
  if (problem !== undefined) return problem
  if (isUndeclared === true) return `mcp in [capabilities] of ${file} does not name it`
  const which = pack === undefined ? 'the file' : file
  return `${which} ${isChanged ? 'has changed since it was trusted' : 'is not trusted'}`
}

/** What the user can do about them. */
export function unusedServerHint({
  file,
  pack,
  isUndeclared,
  problem,
}: Pick<UnusedReason, 'file' | 'pack' | 'isUndeclared' | 'problem'>): string {
  if (problem !== undefined) return `Correct ${file}; see docs/mcp.md for its form.`
  if (isUndeclared === true)
    return 'The author of the pack must name it there: installing a pack approves only what it declares.'
  return `Look at the file, then run baton trust ${pack ?? file}.`
}

/** The error code for a refusal to use them; with UNTRUSTED, the user can be asked for trust. */
export function unusedServerCode({
  isUndeclared,
  problem,
}: Pick<UnusedReason, 'isUndeclared' | 'problem'>): 'UNTRUSTED' | 'CONFIG_INVALID' {
  return isUndeclared === true || problem !== undefined ? 'CONFIG_INVALID' : 'UNTRUSTED'
}

/**
 * Whether a name or pattern of a tool covers tools of a server: `named` if it contains the name of the server, `any` if
 * it matches by `*`.
 */
export function aboutServer(pattern: string, server: string): 'named' | 'any' | undefined {
  const plain = pattern.replace(/^mcp__/, '')
  const prefix = `${server}__`
  if (plain.startsWith(prefix)) return 'named'
  const star = plain.indexOf('*')
  return star !== -1 && prefix.startsWith(plain.slice(0, star)) ? 'any' : undefined
}

/** Warnings about servers whose tools a pattern would match, for the start of a run. */
export function warningsOfLeftOut(leftOut: readonly UnusedServers[], tools: readonly string[]): readonly string[] {
  const declared = leftOut.filter(({ isUndeclared }) => isUndeclared !== true)
  return declared.flatMap((file) => {
    const isMeant = (name: string): boolean => tools.some((pattern) => aboutServer(pattern, name) === 'any')
    const names = file.names.filter(isMeant)
    if (names.length === 0 && !(file.names.length === 0 && isMeant(''))) return []
    const text = unusedServersText({ ...file, names })
    return [file.problem === undefined ? `${text} (baton trust ${ownerOf(file)})` : text]
  })
}
