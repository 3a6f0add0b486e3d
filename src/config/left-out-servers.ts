/** MCP servers of a file that are not used, because the file is not trusted as it is. */
export interface LeftOutServers {
  /** As it is shown. */
  readonly file: string
  readonly names: readonly string[]
  /** It was trusted with other content. */
  readonly isChanged: boolean
}

/** What is said of servers that are left out. */
export function leftOutText({ file, names, isChanged }: LeftOutServers): string {
  const which =
    names.length === 1 ? `the server ${names[0]} of ${file} is` : `the servers ${names.join(', ')} of ${file} are`
  return `${which} left out: ${whyLeftOut(isChanged)}`
}

/** Completes `the file …`. */
export function whyLeftOut(isChanged: boolean): string {
  return `the file ${isChanged ? 'has changed since it was trusted' : 'is not trusted'}`
}

/** What to do about them. */
export function leftOutHint({ file }: Pick<LeftOutServers, 'file'>): string {
  return `Look at the file, then run baton trust ${file}.`
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
  return leftOut.flatMap((file) => {
    const names = file.names.filter((name) => tools.some((pattern) => aboutServer(pattern, name) === 'any'))
    return names.length === 0 ? [] : [`${leftOutText({ ...file, names })} (baton trust ${file.file})`]
  })
}
