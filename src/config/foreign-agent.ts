import type { DataPath } from '../base/data-text.ts'
import { BatonError } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { withoutMark } from '../base/text-lines.ts'
import { hashPrompt, parsePrompt, type PromptDocument, placeOf } from '../prompt/document.ts'

/**
 * Our names for the tools in agent files of Claude Code; null: Baton has no such tool, and the agent does without it.
 */
const tools: { readonly [name: string]: string | null } = {
  Bash: 'bash',
  BashOutput: 'bash_output',
  Edit: 'edit',
  EnterPlanMode: 'enter_plan',
  ExitPlanMode: 'exit_plan',
  Glob: 'glob',
  Grep: 'grep',
  KillShell: 'kill',
  LS: 'read',
  MultiEdit: 'edit',
  Read: 'read',
  Task: 'task',
  TodoWrite: 'todo',
  WebFetch: 'webfetch',
  Write: 'write',
  AskUserQuestion: null,
  LSP: null,
  NotebookEdit: null,
  NotebookRead: null,
  Skill: null,
  SlashCommand: null,
  WebSearch: null,
}

/** Keys with our name for each. */
const keys: { readonly [key: string]: string } = { disallowedTools: 'disallowed_tools', maxTurns: 'max_turns' }

/** Display-only keys. */
const shown: ReadonlySet<string> = new Set(['color'])

/** Keys that change what the agent may do and are set differently here. */
const refused: { readonly [key: string]: string } = {
  hooks: 'Remove it.',
  mcpServers: 'Configure the servers in [mcp_servers], and name their tools in tools.',
  memory: 'Remove it.',
  permissionMode: 'Set what it may do in [permission] and sandbox.mode.',
  skills: 'Put what it needs to know into its instructions.',
}

/** The front matter of an agent of another program, in our words. */
export interface ForeignAgent {
  readonly data: JsonObject
  /** Tools that it names and Baton does not have, as written. */
  readonly leftOut: readonly string[]
}

/**
 * Reads a file of a folder `agents/`. Other programs accept a description that contains `: ` and the tools `*`, which
 * YAML requires to be quoted.
 * @throws BatonError PROMPT_SYNTAX as `parsePrompt` does
 */
export async function parseAgentFile(file: string, text: string): Promise<PromptDocument> {
  try {
    return await parsePrompt(file, text)
  } catch (error) {
    const quoted = withQuotes(withoutMark(text))
    if (quoted === undefined) throw error
    // other errors are reported for the file as written
    const document = await parsePrompt(file, quoted).catch(() => Promise.reject(error))
    return { ...document, text: withoutMark(text), hash: hashPrompt(text) }
  }
}

/**
 * Reads such a file as the prompt file that it is here.
 * @throws BatonError also CONFIG_INVALID for keys without an equivalent
 */
export async function readAgentFile(
  file: string,
  text: string,
): Promise<{ readonly document: PromptDocument; readonly foreignTools?: ForeignAgent['leftOut'] }> {
  const document = await parseAgentFile(file, text)
  const foreign = await translateForeign(document)
  if (foreign === undefined) return { document }
  const { data, leftOut } = foreign
  return { document: { ...document, meta: { ...document.meta, data } }, foreignTools: leftOut }
}

const opened = /^(?:\s|<!--(?:(?!-->)[^])*-->)*---[ \t]*\r?\n/

/** The same lines, with quotes around an unquoted one-line description and an unquoted `*`; undefined if there is none. */
function withQuotes(text: string): string | undefined {
  const [mark] = opened.exec(text) ?? []
  if (mark === undefined) return undefined
  const rest = text.slice(mark.length)
  const end = rest.search(/^---/m)
  const head = end === -1 ? rest : rest.slice(0, end)
  const quoted = head
    .replace(/^(description:[ \t]+)([^\s'"|>][^\r\n]*)/m, (_, key: string, value: string) => `${key}${inQuotes(value)}`)
    .replace(
      /^((?:disallowedT|t)ools:[ \t]+)(\*[^\r\n]*)/gm,
      (_, key: string, value: string) => `${key}${inQuotes(value)}`,
    )
    .replaceAll(/^(?:[ \t]*-[ \t]+|(?:disallowedT|t)ools:[ \t]+\[[^\]\r\n]*?)\*(?=[ \t]*(?:[\],#]|\r?$))/gm, (item) => {
      return `${item.slice(0, -1)}'*'`
    })
  return quoted === head ? undefined : `${mark}${quoted}${rest.slice(head.length)}`
}

function inQuotes(value: string): string {
  return `'${value.trimEnd().replaceAll("'", "''")}'`
}

/**
 * The front matter of an agent file of Claude Code translated into ours: comma-separated tool names, `model: inherit`,
 * camelCase keys. Undefined for a file that uses none of these and has no `name`, which ours do not have.
 * @throws BatonError CONFIG_INVALID for keys without an equivalent
 */
export async function translateForeign(document: PromptDocument): Promise<ForeignAgent | undefined> {
  const { data, language } = document.meta
  if (language !== 'yaml' || !isForeign(data)) return undefined
  const values: { [key: string]: Json } = {}
  const leftOut: string[] = []
  for (const [key, value] of Object.entries(data)) {
    const hint = refused[key]
    if (hint !== undefined && !(key === 'permissionMode' && value === 'default')) {
      throw await wrong(document, [key], `"${key}" is not supported in agents of other programs`, hint)
    }
    const isEmpty = value === null || (key === 'model' && value === 'inherit')
    if (hint !== undefined || shown.has(key) || isEmpty) continue
    const own = keys[key] ?? key
    if (own !== 'tools' && own !== 'disallowed_tools') {
      values[own] = value
      continue
    }
    const words = wordsOf(value)
    if (words === undefined) {
      values[own] = value
      continue
    }
    await refusePatterns(words, key, document)
    values[own] = [...new Set(words.flatMap((word) => ownTool(word) ?? []))]
    if (own === 'tools') leftOut.push(...words.filter((word) => ownTool(word) === null))
  }
  return { data: values, leftOut: [...new Set(leftOut)] }
}

function isForeign(data: JsonObject): boolean {
  const { tools: given, model, name } = data
  if (typeof given === 'string' || typeof name === 'string' || model === 'inherit') return true
  const words = Array.isArray(given) ? given : []
  if (words.some((word) => typeof word === 'string' && Object.hasOwn(tools, word))) return true
  return [...Object.keys(keys), ...Object.keys(refused), ...shown].some((key) => data[key] !== undefined)
}

/** The names in a list of tools; undefined if it is none. */
function wordsOf(value: Json): readonly string[] | undefined {
  if (typeof value !== 'string' && !Array.isArray(value)) return undefined
  const words = typeof value === 'string' ? value.split(/,(?![^(]*\))/) : (value as readonly Json[]).map(String)
  return words.map((each) => each.trim()).filter((each) => each !== '')
}

async function refusePatterns(words: readonly string[], key: string, document: PromptDocument): Promise<void> {
  const word = words.find((each) => each.includes('('))
  if (word === undefined) return
  const hint = 'Name only the tool, and set what it may do in [permission].'
  throw await wrong(document, [key], `the tool "${word}" has a pattern, which belongs in rules`, hint)
}

/** Our name of a tool; null if Baton has no such tool. `mcp__server` means all tools of the server. */
function ownTool(word: string): string | null {
  const [, server, tool = '*'] = /^mcp__(.+?)(?:__(.+))?$/.exec(word) ?? []
  if (server !== undefined && server !== '*') return `${server}__${tool}`
  return Object.hasOwn(tools, word) ? (tools[word] ?? null) : word
}

async function wrong(document: PromptDocument, path: DataPath, message: string, hint: string): Promise<BatonError> {
  return new BatonError('CONFIG_INVALID', message, { place: await placeOf(document, path, 'key'), hint })
}
