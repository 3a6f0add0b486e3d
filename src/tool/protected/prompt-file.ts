import { readSync } from 'node:fs'
import { readRegular } from '../../base/regular-file.ts'
import { foldedName } from './names.ts'

const endings = /\.(?:md|markdown|mdx|txt|prompt)$/i
/** Only this much of the front matter is considered. */
const mostBytes = 64 * 1024

/** Front matter keys that decide what runs, with which files and rights. Files of other programs do not have them. */
export const decidingKeys: readonly string[] = [
  'sub_agents',
  'agent',
  'model',
  'model_aliases',
  'fallback_models',
  'write_mode',
  'base_dir',
  'permission',
  'sandbox',
  'iterate',
  'ensemble',
  'delegate',
  'workflow',
  'collab',
  'tools',
  'disallowed_tools',
  'mcp_servers',
  'plugins',
  'providers',
  'gateway',
  'agents',
  'context_globs',
  'context_resources',
  'knowledge_globs',
  'structure_globs',
  'working_globs',
]

const fence =
  /^\uFEFF?(?:#!\/[^\n]*\n)?(?:\s|<!--(?:(?!-->)[^])*-->)*(?:(\+\+\+|---)[ \t]*\r?\n|```(?:toml|yaml)[ \t]*\r?\n#!meta)/
const key = anyOf(decidingKeys)
const agentKey = anyOf([...decidingKeys, 'name', 'description'])

function anyOf(keys: readonly string[]): RegExp {
  return new RegExp(`^[ \\t]*\\[{0,2}["']?(?:${keys.join('|')})(?:_pre|_post)?["']?[ \\t]*(?:[=:.\\]]|$)`, 'm')
}

/** Whether a path, by its steps from the workspace, is where agents are found by their names and descriptions. */
export function isAgentPlace([first = '', ...below]: readonly string[]): boolean {
  return below.length > 0 && foldedName(first) === 'agents'
}

/**
 * Whether Markdown is a prompt file: its front matter has a key that decides what runs, or, where agents are found, one
 * that makes it an agent.
 */
export function isPromptText(text: string, isAgent = false): boolean {
  const head = text.slice(0, mostBytes)
  const opened = fence.exec(head)
  if (opened === null) return false
  const [whole, marks] = opened
  if (marks === undefined) return true
  const rest = head.slice(whole.length)
  const end = rest.search(marks === '+++' ? /^\+\+\+/m : /^---/m)
  return (isAgent ? agentKey : key).test(end === -1 ? rest : rest.slice(0, end))
}

/** Whether a file with this name could be a prompt file. */
export function mayBePrompt(path: string): boolean {
  return endings.test(path)
}

/** Whether the file at a path (absolute) is a prompt file, by its name and content. */
export function isPromptFile(path: string, isAgent = false): boolean {
  return mayBePrompt(path) && isPromptText(fileHead(path).toString('utf8'), isAgent)
}

/** The start of a file (absolute), enough to tell whether it is a prompt file; empty if it cannot be read. */
export function fileHead(path: string): Buffer {
  try {
    return readRegular(path, (descriptor) => {
      const bytes = Buffer.alloc(mostBytes)
      return bytes.subarray(0, readSync(descriptor, bytes, 0, mostBytes, 0))
    })
  } catch {
    return Buffer.alloc(0)
  }
}
