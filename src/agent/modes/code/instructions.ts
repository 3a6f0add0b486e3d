import { modelText } from '../../../base/model-text.ts'
import type { Tool } from '../../../event/agent.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import type { BoxFunction } from '../../../script/javascript/program.ts'
import { toolFunctions, type ToolFunctions } from '../../../script/javascript/tool-functions.ts'
import { toolList } from '../../../mcp/deferred-tools.ts'
import { builtIns, reservedNames } from './built-ins.ts'
import { isTextTool } from './program.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'

interface InstructionParts {
  readonly tools: ToolFunctions<Tool>
  /** Functions that plug-ins add. */
  readonly added: readonly PluginFunction[]
  readonly output: { readonly schema: JsonObject } | undefined
  readonly rounds: number
}

/** The instructions of the mode `code`: how to answer, and what programs can do. */
export function instructionsOf({ tools, added, output, rounds }: InstructionParts): string {
  const isDeferred = ({ name }: BoxFunction): boolean => tools.toolOf(name)?.isDeferred === true
  const told = tools.functions.filter((one) => !isDeferred(one))
  const deferred = tools.functions.filter(isDeferred).flatMap(({ name }) => tools.toolOf(name) ?? [])
  return [
    modelText`You answer with programs. Each of your answers is exactly one JavaScript program, in one block between \`\`\`js and \`\`\`, and nothing else. It runs immediately, and you get what it logged and its result: the value of its last expression, or its error. Then you write the next one, until one of them calls done(). You have at most ${rounds} programs.`,
    modelText`Programs run in a sandbox: plain JavaScript or TypeScript, without modules, network, files, timers or process. Each program starts with a clean state; only what you store() is kept. Functions return their result directly; await is allowed but not needed. A call that fails throws an Error, which you can catch.`,
    modelText`The user gets only what you pass to output(): not the text around a program, not its value, not its logs. What was output is kept even if the program fails later. If a program fails, its done() is ignored.`,
    ...(output === undefined
      ? []
      : [
          modelText`All your output together must be exactly one JSON value that matches this JSON Schema, with nothing around it: output(JSON.stringify(value)).\n${JSON.stringify(output.schema)}`,
        ]),
    block(modelText`These functions are available:`, ownFunctions(added)),
    ...(told.length === 0
      ? []
      : [
          block(
            modelText`These functions call tools:`,
            told.flatMap((one) => functionText(one, tools)),
          ),
        ]),
    ...(deferred.length === 0
      ? []
      : [
          modelText`You have more tools, of MCP servers. toolSchema("server__tool") returns the JSON Schema of the input of one, and tools["server__tool"](input) calls it. By server, they are:\n${toolList(deferred)}`,
        ]),
  ].join('\n\n')
}

/** The description of the tool that runs programs. The model already knows its other tools. */
export function interpreterText(tools: readonly Tool[], added: readonly PluginFunction[]): string {
  const { functions, toolOf } = toolFunctions(tools, reservedNames(added))
  const known = functions.filter(({ name }) => toolOf(name)?.isDeferred !== true)
  return [
    modelText`Run a JavaScript or TypeScript program in a sandbox, without modules, network, files or timers. You get what it passes to output() and log(), and the value of its last expression. Functions return their result directly; a call that fails throws an Error.`,
    block(modelText`These functions are available:`, ownFunctions(added)),
    ...(known.length === 0
      ? []
      : [
          modelText`Your other tools are functions that take their input as one object: ${known.map(shownName).join(', ')}.`,
        ]),
    ...(known.length === functions.length
      ? []
      : [modelText`Those that tool_search shows are functions, too: tools["server__tool"](input).`]),
  ].join('\n\n')
}

function ownFunctions(added: readonly PluginFunction[]): readonly string[] {
  return [...builtIns.map(({ text }) => text), parallelText, ...added.map(addedText)]
}

const parallelText = modelText`parallel(calls: Array<{ tool: string; input: object }>): any[] // calls tools at the same time; a call that fails returns { error: string }`

function block(title: string, lines: readonly string[]): string {
  return [title, '```ts', ...lines, '```'].join('\n')
}

function addedText({ name, description }: PluginFunction): string {
  return [...commentLines(description), `function ${name}(...args: any[]): any`].join('\n')
}

function functionText(shown: BoxFunction, { toolOf }: ToolFunctions<Tool>): readonly string[] {
  const tool = toolOf(shown.name)
  if (tool === undefined) return []
  const name = shownName(shown)
  const head = name === shown.name ? `function ${name}` : `${name}: `
  const result = isTextTool(tool.name) ? 'string' : tool.output === undefined ? 'any' : typeText(tool.output)
  return [...commentLines(tool.description), `${head}(input: ${typeText(tool.parameters)}): ${result}`]
}

/** The name as a program writes it. */
function shownName({ name, id }: BoxFunction): string {
  return name === `tools.${id}` ? `tools[${JSON.stringify(id)}]` : name
}

/** Levels of a schema that are shown. */
const mostDepth = 6

/** Renders a JSON Schema as a TypeScript type for a model; anything else becomes `unknown`. */
export function typeText(schema: Json | undefined, depth = 0): string {
  if (!isJsonObject(schema) || depth > mostDepth) return 'unknown'
  const { type, const: constant, enum: values, anyOf, oneOf, items } = schema
  if (constant !== undefined) return JSON.stringify(constant)
  if (Array.isArray(values)) return unionOf(values.map((value) => JSON.stringify(value)))
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) return unionOf(choices.map((choice) => typeText(choice, depth + 1)))
  if (Array.isArray(type)) {
    const names = new Set(type.filter((one) => typeof one === 'string'))
    return unionOf([...names].map((one) => typeText({ ...schema, type: one }, depth)))
  }
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return `Array<${typeText(items, depth + 1)}>`
    case 'object':
      return objectText(schema, depth)
    default:
      return 'unknown'
  }
}

function unionOf(types: readonly string[]): string {
  return [...new Set(types)].join(' | ') || 'unknown'
}

function objectText({ properties, required, additionalProperties }: JsonObject, depth: number): string {
  const entries = isJsonObject(properties) ? Object.entries(properties) : []
  if (entries.length === 0) {
    if (additionalProperties === false) return '{}'
    return `{ [key: string]: ${typeText(isJsonObject(additionalProperties) ? additionalProperties : undefined, depth + 1)} }`
  }
  const needed = Array.isArray(required) ? required : []
  const indent = '  '.repeat(depth + 1)
  const lines = entries.flatMap(([name, property]) => [
    ...commentLines(isJsonObject(property) ? property['description'] : undefined, indent),
    `${indent}${keyText(name)}${needed.includes(name) ? '' : '?'}: ${typeText(property, depth + 1)}`,
  ])
  return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`
}

function keyText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

/** A text as a comment that it cannot close. */
function commentLines(text: Json | undefined, indent = ''): readonly string[] {
  if (typeof text !== 'string' || text.trim() === '') return []
  const lines = text.trim().replaceAll('*/', '*\u200B/').split('\n')
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`]
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`]
}
