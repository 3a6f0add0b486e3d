/** Why MCP servers of a file are not used. */
export interface LeftOut {
  /** What is to be looked at, as it is shown. */
  readonly file: string
  /** It was trusted with other content. */
  readonly isChanged: boolean
  /** The pack that brings them, `namespace@name`: they are trusted by its name. */
  readonly pack?: string
  /** The capabilities of the pack do not name them; `file` is its `pack.toml`. Trust does not help. */
  readonly isUndeclared?: true
}

/** MCP servers of a file that are not used, because the file is not trusted as it is. */
export interface LeftOutServers extends LeftOut {
  readonly names: readonly string[]
}

/** MCP servers that the agents of a pack have besides those of the run, by name. */
export interface ServersOfPack {
  /** Those that are used. */
  readonly names: readonly string[]
  readonly leftOut: readonly LeftOutServers[]
}

/** What is said of servers that are left out. */
export function leftOutText({ names, ...why }: LeftOutServers): string {
  const of = ownerOf(why)
  const which =
    names.length === 1 ? `the server ${names[0]} of ${of} is` : `the servers ${names.join(', ')} of ${of} are`
  return `${which} left out: ${whyLeftOut(why)}`
}

/** Whose servers they are: a file, or a pack. */
export function ownerOf({ file, pack }: Pick<LeftOut, 'file' | 'pack'>): string {
  return pack ?? file
}

/** A sentence without its end: `the file is not trusted`. */
export function whyLeftOut({ file, isChanged, pack, isUndeclared }: LeftOut): string {
  if (isUndeclared === true) return `mcp in [capabilities] of ${file} does not name it`
  const which = pack === undefined ? 'the file' : file
  return `${which} ${isChanged ? 'has changed since it was trusted' : 'is not trusted'}`
}

/** What to do about them. */
export function leftOutHint({ file, pack, isUndeclared }: Pick<LeftOut, 'file' | 'pack' | 'isUndeclared'>): string {
  if (isUndeclared === true)
    return 'Its author names it there; what an installed pack may use was agreed to by installing it.'
  return `Look at the file, then run baton trust ${pack ?? file}.`
}

/** Of which code a refusal to use them is: what trust would change can be asked about. */
export function leftOutCode({ isUndeclared }: Pick<LeftOut, 'isUndeclared'>): 'UNTRUSTED' | 'CONFIG_INVALID' {
  return isUndeclared === true ? 'CONFIG_INVALID' : 'UNTRUSTED'
}

/**
 * Whether a name or pattern of a tool is about those of a server: `named` where it says the server, `any` where `*` stands for it,
 * too.
 */
export function aboutServer(pattern: string, server: string): 'named' | 'any' | undefined {
  const plain = pattern.replace(/^mcp__/, '')
  const prefix = `${server}__`
  if (plain.startsWith(prefix)) return 'named'
  const star = plain.indexOf('*')
  return star !== -1 && prefix.startsWith(plain.slice(0, star)) ? 'any' : undefined
}

/** Those that tools are taken of by a pattern: said once, when a run begins. */
export function warningsOfLeftOut(leftOut: readonly LeftOutServers[], tools: readonly string[]): readonly string[] {
  const untrusted = leftOut.filter(({ isUndeclared }) => isUndeclared !== true)
  return untrusted.flatMap((file) => {
    const names = file.names.filter((name) => tools.some((pattern) => aboutServer(pattern, name) === 'any'))
    return names.length === 0 ? [] : [`${leftOutText({ ...file, names })} (baton trust ${ownerOf(file)})`]
  })
}
