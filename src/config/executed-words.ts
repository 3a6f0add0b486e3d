/** Programs that only read the files they are given, whatever their options, and execute none of them. */
const readers: ReadonlySet<string> = new Set([
  '[',
  'cat',
  'cmp',
  'diff',
  'echo',
  'egrep',
  'false',
  'fgrep',
  'grep',
  'head',
  'ls',
  'sha256sum',
  'tail',
  'test',
  'true',
  'wc',
])

/** Shell builtins, and `env`, that make a name mean another program or that run text. */
const shifting: ReadonlySet<string> = new Set([
  '.',
  'alias',
  'builtin',
  'command',
  'declare',
  'enable',
  'env',
  'eval',
  'exec',
  'export',
  'hash',
  'local',
  'readonly',
  'set',
  'shopt',
  'source',
  'trap',
  'typeset',
  'unset',
])

/**
 * The words of a shell command line that may name a file to be executed: all words except the arguments of well-known
 * programs that only read. When in doubt, a word counts as executed: everything of an unknown program (each argument
 * may be a script), everything piped into one, and the whole line if it has substitutions, redirections, groups,
 * assignments or several lines.
 */
export function executedWords(line: string): readonly string[] {
  const pipelines = plainPipelines(line)
  const names = pipelines?.flat().map(([name = '']) => name)
  if (pipelines === undefined || names?.some((name) => !/^[\w./[-]*$/.test(name) || shifting.has(name))) return [line]
  return pipelines.flatMap((commands) => {
    const isRead = commands.every(([name = '']) => readers.has(name))
    return commands.flatMap((words) => (isRead ? words.slice(0, 1) : words))
  })
}

/**
 * A word, the end of a command (including a single `|`), or something that is not plain. A backslash and `$` never are.
 */
const tokens = /\s+|(&&|\|\||[;&|])|((?:'[^'\\$`\n]*'|"[^"\\$`\n]*"|[\w./,:@%+=![\]^-])+)|([^])/g

/**
 * The words of each command, as the shell splits them, in pipelines. Undefined if the line has more than plain
 * commands.
 */
function plainPipelines(line: string): readonly (readonly (readonly string[])[])[] | undefined {
  if (/[\n\r]/.test(line.trim())) return undefined
  const pipelines: string[][][] = [[[]]]
  for (const [, end, word, other] of line.trim().matchAll(tokens)) {
    const pipeline = pipelines.at(-1)
    const command = pipeline?.at(-1)
    if (other !== undefined) return undefined
    if (end === '|') pipeline?.push([])
    else if (end !== undefined) pipelines.push([[]])
    // the shell's "not" is not a program
    else if (word !== undefined && !(word === '!' && command?.length === 0)) command?.push(word.replaceAll(/['"]/g, ''))
  }
  return pipelines.filter((pipeline) => pipeline.length > 1 || pipeline[0]?.length !== 0)
}
