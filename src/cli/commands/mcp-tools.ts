import { isJsonObject, type JsonObject } from '../../base/json.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import type { McpPrompt, McpResource, McpTool } from '../../event/mcp.ts'
import type { McpContext } from './mcp.ts'

/** Shows what a server offers: its tools with their parameters, its resources and its prompts. */
export async function showTools(server: string, { service, io, print, paint, note }: McpContext): Promise<number> {
  const { signal } = io
  const tools = await service.tools(server, signal)
  const resources = await service.resources(server, signal)
  const prompts = await service.prompts(server, signal)
  const { instructions } = service.about(server) ?? {}
  if (instructions !== undefined) note(`${server} says: ${harmlessName(oneLine(instructions))}\n`)
  const bold = (text: string): string => paint('bold', harmlessName(text))
  for (const tool of tools) print({ kind: 'tool', server, ...tool }, () => describeTool(tool, bold))
  for (const resource of resources)
    print({ kind: 'resource', server, ...resource }, () => describeResource(resource, bold))
  for (const prompt of prompts) print({ kind: 'prompt', server, ...prompt }, () => describePrompt(prompt, bold))
  return 0
}

type Bold = (text: string) => string

function describeTool(
  { name, title, description, input, readOnly, destructive, onlyAsTask }: McpTool,
  bold: Bold,
): string {
  const facts = [readOnly === true ? 'only reads' : '', destructive === true && readOnly !== true ? 'destructive' : '']
  const said = facts.filter((fact) => fact !== '').join(', ')
  const head = `${bold(name)}${line(description ?? title)}${said === '' ? '' : ` (${said}, according to the server)`}\n`
  const cannot = onlyAsTask === true ? '  runs only as an MCP task, which Baton does not support\n' : ''
  return `${head}${cannot}${parameterLines(input)}`
}

function parameterLines({ properties = {}, required = [] }: JsonObject): string {
  if (!isJsonObject(properties)) return ''
  const isRequired = (name: string): boolean =>
    Array.isArray(required) && (required as readonly unknown[]).includes(name)
  return Object.entries(properties)
    .map(([name, schema]) => {
      const { type, description } = isJsonObject(schema) ? schema : {}
      const kind = typeof type === 'string' ? ` ${type}` : ''
      return `  ${harmlessName(name)}:${harmlessName(kind)}${isRequired(name) ? '' : ', optional'}${line(description)}\n`
    })
    .join('')
}

function describeResource({ uri, name, description, mimeType, isTemplate }: McpResource, bold: Bold): string {
  const what = `${isTemplate === true ? 'resources' : 'resource'}${mimeType === undefined ? '' : ` of type ${harmlessName(mimeType)}`}`
  return `${bold(uri)}: ${what}${line(description ?? name)}\n`
}

function describePrompt({ name, title, description, arguments: given }: McpPrompt, bold: Bold): string {
  const values = given.map(({ name: value, required }) => (required === true ? value : `[${value}]`)).join(' ')
  return `${bold(name)}: prompt${values === '' ? '' : ` ${harmlessName(values)}`}${line(description ?? title)}\n`
}

function line(text: unknown): string {
  return typeof text === 'string' && text !== '' ? `: ${harmlessName(oneLine(text))}` : ''
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
