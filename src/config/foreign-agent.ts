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

/**
 * Reads a file of a folder `agents/`. Other programs accept a description that contains `: `, which YAML requires to be
 * quoted.
 * @throws BatonError PROMPT_SYNTAX as `parsePrompt` does
 */
export async function parseAgentFile(file: string, text: string): Promise<PromptDocument> {
  try {
    return await parsePrompt(file, text)
  } catch (error) {
    const quoted = withQuotedDescription(withoutMark(text))
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
export async function readAgentFile(file: string, text: string): Promise<PromptDocument> {
  const document = await parseAgentFile(file, text)
  const data = await translateForeign(document)
  return data === undefined ? document : { ...document, meta: { ...document.meta, data } }
}

/** The same lines, with quotes around an unquoted one-line description; undefined if there is none. */
function withQuotedDescription(text: string): string | undefined {
  const [, head = '', value, rest = ''] =
    /^((?:\s|<!--(?:(?!-->)[^])*-->)*---[ \t]*\r?\n(?:(?!---)[^\n]*\n)*?description:[ \t]+)([^\s'"|>][^\r\n]*)([^]*)$/.exec(
      text,
    ) ?? []
  return value === undefined ? undefined : `${head}'${value.trimEnd().replaceAll("'", "''")}'${rest}`
}

/**
 * The front matter of an agent file of Claude Code translated into ours: comma-separated tool names, `model: inherit`,
 * camelCase keys. Undefined for a file that uses none of these.
 * @throws BatonError CONFIG_INVALID for keys without an equivalent
 */
export async function translateForeign(document: PromptDocument): Promise<JsonObject | undefined> {
  const { data, language } = document.meta
  if (language !== 'yaml' || !isForeign(data)) return undefined
  const values: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(data)) {
    const hint = refused[key]
    if (hint !== undefined && !(key === 'permissionMode' && value === 'default')) {
      throw await wrong(document, [key], `"${key}" is not supported in agents of other programs`, hint)
    }
    if (hint !== undefined || shown.has(key) || (key === 'model' && value === 'inherit')) continue
    const own = keys[key] ?? key
    values[own] = own === 'tools' || own === 'disallowed_tools' ? await toolList(value, key, document) : value
  }
  return values
}

function isForeign(data: JsonObject): boolean {
  const { tools: given, model } = data
  if (typeof given === 'string' || model === 'inherit') return true
  const words = Array.isArray(given) ? given : []
  if (words.some((word) => typeof word === 'string' && Object.hasOwn(tools, word))) return true
  return [...Object.keys(keys), ...Object.keys(refused), ...shown].some((key) => data[key] !== undefined)
}

async function toolList(value: Json, key: string, document: PromptDocument): Promise<Json> {
  if (typeof value !== 'string' && !Array.isArray(value)) return value
  const words = typeof value === 'string' ? value.split(/,(?![^(]*\))/) : (value as readonly Json[]).map(String)
  const names: string[] = []
  for (const word of words.map((each) => each.trim()).filter((each) => each !== '')) {
    if (word.includes('(')) {
      const hint = 'Name only the tool, and set what it may do in [permission].'
      throw await wrong(document, [key], `the tool "${word}" has a pattern, which belongs in rules`, hint)
    }
    const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(word) ?? []
    const own = server === undefined ? tools[word] : `${server}__${tool}`
    if (own !== null) names.push(own ?? word)
  }
  return [...new Set(names)]
}

async function wrong(document: PromptDocument, path: DataPath, message: string, hint: string): Promise<BatonError> {
  return new BatonError('CONFIG_INVALID', message, { place: await placeOf(document, path, 'key'), hint })
}
