import { modelText } from '../base/model-text.ts'
import { isJsonObject, type Json, type JsonObject, parseSentJson } from '../base/json.ts'
import { cutText } from '../base/cut-text.ts'
import { nearest } from '../base/suggest.ts'
import type { Tool } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import { cutFrom } from '../event/message.ts'
import type { ToolFilter } from '../event/permission.ts'
import { callPlace, part, type Place } from '../event/place.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import { verdictOnAny } from '../tool/tool-rules.ts'
import { bindTool } from '../tool/toolbox/bind.ts'
import { defineTool, type Toolbox, type ToolKind } from '../tool/toolbox/kind.ts'
import { listPlace } from './recorded-calls.ts'

/** Bytes of names, descriptions and schemas of servers' tools that each request of a conversation may carry. */
const mostSent = 10_000

interface Deferring {
  readonly named: ToolFilter
  readonly box: Toolbox
  /** At the place of the conversation. */
  readonly context: RunContext
}

/**
 * The tools of servers for a conversation, as its requests carry them. If they are too large to be sent with each
 * request, the model is told their names, searches for schemas with `tool_search`, and makes calls with `tool_call`:
 * the list of tools, with which the cached start of all requests begins, stays the same. What is deferred is recorded.
 */
export async function deferTools(tools: readonly Tool[], deferring: Deferring): Promise<readonly Tool[]> {
  const { named, box, context } = deferring
  if (tools.length === 0 || !isUsable('tool_search', named, context)) return tools
  const names = new Set(await deferredNames(tools, deferring))
  const deferred = tools.filter(({ name }) => names.has(name))
  if (deferred.length === 0) return tools
  const search = bindTool(searchKind(deferred), box)
  const sent = tools.filter(({ name }) => !names.has(name))
  return [...sent, search, callTool(deferred), ...deferred.map((tool): Tool => ({ ...tool, isDeferred: true }))]
}

function isUsable(name: string, named: ToolFilter, { scope }: Pick<RunContext, 'scope'>): boolean {
  const { disallowed_tools = [] } = named
  const isPassed = passesFilters(name, [{ disallowed_tools }, ...(scope.rights.tools ?? [])])
  return isPassed && verdictOnAny(name, scope).kind !== 'deny'
}

/** Runs of earlier versions, which recorded the lists of servers and no decision, go on with all schemas. */
async function deferredNames(tools: readonly Tool[], { named, context }: Deferring): Promise<readonly string[]> {
  const { effects } = context.services
  const { at } = context.scope
  const place = decisionPlace(at)
  const isReplay = effects.lacks !== undefined
  const isKnown = isReplay || effects.answers(listPlace(at, tools[0]?.server ?? ''))
  const wasDeferred = isReplay ? effects.lacks?.(place) === false : effects.answers(place)
  const names = isKnown ? [] : namesToDefer(tools, named, context)
  if (!wasDeferred && names.length === 0) return []
  return effects.observeAsync(place, { name: 'mcp.deferred', args: null }, async () => names)
}

/** No server's list is recorded here, since all have names. */
function decisionPlace(at: Place): Place {
  return callPlace([...at, part('mcp')], 0)
}

/** A tool that is named without `*` is sent, as long as all of these are small enough. */
function namesToDefer(tools: readonly Tool[], { tools: patterns = [] }: ToolFilter, context: RunContext): string[] {
  const { servers = [] } = context.services.mcp ?? {}
  const byServer = new Map(servers.map(({ name, defersTools }) => [name, defersTools]))
  const wishOf = ({ server = '' }: Tool): boolean | undefined => byServer.get(server)
  const always = tools.filter((tool) => wishOf(tool) === true)
  const others = tools.filter((tool) => wishOf(tool) === undefined)
  const literal = patterns.filter((pattern) => !pattern.includes('*'))
  const isNamed = ({ name }: Tool): boolean => passesFilters(name, [{ tools: literal }])
  const keepsNamed = sizeOf(others.filter(isNamed)) <= mostSent
  const large = sizeOf(others) <= mostSent ? [] : others.filter((tool) => !keepsNamed || !isNamed(tool))
  const chosen = new Set([...always, ...large])
  return tools.flatMap((tool) => (chosen.has(tool) ? [tool.name] : []))
}

function sizeOf(tools: readonly Tool[]): number {
  const sizes = tools.map((tool) => Buffer.byteLength(JSON.stringify(shownTool(tool))))
  return sizes.reduce((sum, size) => sum + size, 0)
}

function shownTool({ name, description, parameters }: Tool): JsonObject {
  return { name, description, parameters }
}

/**
 * Characters of the list of tools in the description of `tool_search`, apart from the names of servers. Each request
 * carries them; a search tells more of what it finds.
 */
const mostListed = 1_200
/** The most of a tool's description in that list; less than the least is of no use. */
const lineCharacters = { most: 80, least: 16 }

function searchKind(tools: readonly Tool[]): ToolKind {
  return defineTool<{ readonly query: string }>({
    name: 'tool_search',
    description: modelText`Get the schemas of tools of MCP servers, by words to look for or by exact names. They are not in your list of tools: call them with tool_call. The tools, by server:\n${toolList(tools)}`,
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, description: modelText`Words, or names of tools.` },
      },
      required: ['query'],
      additionalProperties: false,
    },
    run: async ({ query }) => ({ text: foundText(query, tools) }),
  })
}

/** It never runs for a call that means one of the tools: that is made instead. */
function callTool(tools: readonly Tool[]): Tool {
  return {
    name: 'tool_call',
    description: modelText`Call a tool that tool_search shows.`,
    parameters: {
      type: 'object',
      properties: {
        name: { type: 'string', description: modelText`The name of the tool.` },
        arguments: { type: 'object', description: modelText`Its arguments, as its schema says.` },
      },
      required: ['name', 'arguments'],
    },
    meant: (input) => intendedCall(input, tools),
    async run(input) {
      const given = jsonOf(input)
      const written = isJsonObject(given) ? given['name'] : undefined
      const name = cutText(typeof written === 'string' ? written : input, mostNamed)
      const near = nearest(
        name,
        tools.map((tool) => tool.name),
      )
      const hint = near === undefined ? modelText`Search for it with tool_search.` : modelText`Did you mean "${near}"?`
      return { text: modelText`tool_search shows no tool "${name}". ${hint}`, isError: true, reason: 'TOOL_NOT_FOUND' }
    },
  }
}

/** Characters of a name that an error repeats. */
const mostNamed = 200

/** The call that an input of `tool_call` means; undefined if it names none of the tools, or is not understood. */
function intendedCall(text: string, tools: readonly Tool[]): ReturnType<NonNullable<Tool['meant']>> {
  if (cutFrom(text) !== undefined) return undefined
  const given = jsonOf(text)
  if (!isJsonObject(given)) return undefined
  const { name, arguments: args = {} } = given
  const tool = typeof name === 'string' ? toolNamed(name, tools) : undefined
  if (tool === undefined) return undefined
  // some models write the arguments as text
  return { name: tool.name, input: typeof args === 'string' ? args : JSON.stringify(args) }
}

function jsonOf(text: string): Json | undefined {
  try {
    return parseSentJson(text)
  } catch {
    return undefined
  }
}

/** By its name for models, as `mcp__server__tool`, `server/tool` or `server.tool`, or by the server's own name. */
function toolNamed(written: string, tools: readonly Tool[]): Tool | undefined {
  const name = written.trim().replace(/^mcp__(?=.*__)/, '')
  const spelled = name.replace(/[/.:]/, '__')
  const found = tools.find((tool) => tool.name === name) ?? tools.find((tool) => tool.name === spelled)
  if (found !== undefined) return found
  const [own, ...others] = tools.filter((tool) => plainName(tool) === name)
  return others.length === 0 ? own : undefined
}

/** The name without its server. */
function plainName({ name, server = '' }: Tool): string {
  const prefix = `${server}__`
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}

/** What the server says of it, without whose words they are. */
function wordsOf({ description }: Tool): string {
  const start = description.indexOf(': ')
  return start === -1 ? '' : description.slice(start + 1).trim()
}

function byServer(tools: readonly Tool[]): readonly (readonly [server: string, tools: readonly Tool[]])[] {
  const servers = [...new Set(tools.map(({ server = '' }) => server))]
  return servers.map((name) => [name, tools.filter(({ server = '' }) => server === name)])
}

/** The tools by server: their names with as much of their descriptions as there is room for; of hundreds of tools, some names of each server. */
export function toolList(tools: readonly Tool[]): string {
  const names = tools.reduce((sum, tool) => sum + plainName(tool).length + 2, 0)
  const room = Math.min(lineCharacters.most, Math.floor((mostListed - names) / tools.length))
  const sections = byServer(tools).map(([server, own]) => {
    const head = `${server}__* (${own.length}):`
    if (room >= lineCharacters.least) {
      return [head, ...own.map((tool) => lineOf(plainName(tool), tool, room))].join('\n')
    }
    return `${head} ${some(own.map(plainName), { most: (mostListed * own.length) / tools.length, between: ', ' })}`
  })
  return sections.join('\n')
}

/** A name with the first words of the description of its tool. */
function lineOf(name: string, tool: Tool, most = lineCharacters.most): string {
  return [name, startOf(wordsOf(tool), most)].filter((text) => text !== '').join(': ')
}

/** The first sentence or line, as many whole words of it as fit. */
function startOf(text: string, most: number): string {
  const [sentence = ''] = text.split(/\n|(?<=[.!?])\s/)
  if (sentence.length <= most) return sentence
  const start = sentence.slice(0, most + 1)
  const space = start.lastIndexOf(' ')
  return (space > 0 ? start.slice(0, space) : start.slice(0, most)).trimEnd()
}

/** As many of the texts as fit, and how many more there are. */
function some(
  texts: readonly string[],
  { most, between }: { readonly most: number; readonly between: string },
): string {
  let size = 0
  const end = texts.findIndex((text) => (size += text.length + between.length) > most)
  const shown = end === -1 ? texts : texts.slice(0, end)
  const left = texts.length - shown.length
  return [...shown, ...(left === 0 ? [] : [modelText`${left} more`])].join(between)
}

/** The most tools whose schemas one search shows, if they are not named one by one, and the most characters of them. */
const mostFound = 5
const mostCharacters = 20_000
/** Further ones are listed with the first words of their descriptions, at most that many characters of them. */
const mostFurther = 1_000

/** The schemas of the tools that a search finds, one line each, and the names of others that it finds. */
function foundText(query: string, tools: readonly Tool[]): string {
  const words = query.split(/[\s,;"'`]+/).filter((word) => word !== '')
  const exact = [...new Set(words.flatMap((word) => toolNamed(word, tools) ?? []))]
  const isAllNamed = exact.length > 0 && words.every((word) => toolNamed(word, tools) !== undefined)
  const ranked = isAllNamed ? exact : rankedTools(query, tools)
  const first = isAllNamed ? ranked : [...new Set([...exact, ...ranked])].slice(0, Math.max(mostFound, exact.length))
  const shown = withinSize(first)
  const further = ranked.filter((tool) => !shown.includes(tool)).map((tool) => lineOf(tool.name, tool))
  if (shown.length === 0) {
    const servers = byServer(tools).map(([server, { length }]) => `${server} (${length})`)
    return modelText`No tool has these words in its name or description. Search by other words, or by the name of a server: ${servers.join(', ')}.`
  }
  const more =
    further.length === 0 ? [] : [modelText`Also found:\n${some(further, { most: mostFurther, between: '\n' })}`]
  return [...shown.map((tool) => JSON.stringify(shownTool(tool))), ...more].join('\n')
}

/** As many as fit, and at least the first. */
function withinSize(tools: readonly Tool[]): readonly Tool[] {
  let size = 0
  return tools.filter(
    (tool, index) => (size += JSON.stringify(shownTool(tool)).length) <= mostCharacters || index === 0,
  )
}

/**
 * The tools in which words of a query occur, those first that have more of them in more telling places. A word that few
 * tools have counts more.
 */
function rankedTools(query: string, tools: readonly Tool[]): readonly Tool[] {
  const read = tools.map((tool) => ({
    name: wordsIn(tool.name),
    text: `${wordsOf(tool)} ${JSON.stringify(tool.parameters)}`.toLowerCase(),
  }))
  const scores = tools.map(() => 0)
  for (const word of wordsIn(query)) {
    const found = read.map((one) => scoreOf(word, one))
    const weight = Math.log(1 + tools.length / found.filter((score) => score > 0).length)
    for (const [index, score] of found.entries()) if (score > 0) scores[index] = (scores[index] ?? 0) + score * weight
  }
  return tools
    .map((tool, index) => ({ tool, score: scores[index] ?? 0 }))
    .filter(({ score }) => score > 0)
    .toSorted((left, right) => right.score - left.score)
    .map(({ tool }) => tool)
}

function scoreOf(word: string, { name, text }: { readonly name: readonly string[]; readonly text: string }): number {
  if (name.includes(word)) return 4
  const isLong = word.length > 2
  if (isLong && name.some((part) => part.startsWith(word) || (part.length > 2 && word.startsWith(part)))) return 3
  return isLong && text.includes(word) ? 1 : 0
}

/** Words in lower case, those of `createIssue` and `create_issue` too. */
function wordsIn(text: string): readonly string[] {
  const apart = text.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase()
  return [...new Set(apart.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== ''))]
}
