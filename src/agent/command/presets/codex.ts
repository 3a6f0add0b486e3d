import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { countIn, type ProgramEvent, textIn, valueIn } from '../program-event.ts'
import type { Preset } from './preset.ts'

/** `codex exec --json`. It has its own sandbox, with the same mode names as ours. */
export const codex: Preset = {
  args: ({ model, mode, session, args, prompt }) => [
    // its sandbox decides what it may change, with or without a repository
    'exec',
    '--json',
    '--skip-git-repo-check',
    '--sandbox',
    mode,
    ...(model === undefined ? [] : ['--model', model]),
    ...args,
    ...(session === undefined ? [] : ['resume', session]),
    ...(prompt === undefined ? ['-'] : ['--', prompt]),
  ],
  passes: (name) => /^(?:CODEX_|OPENAI_)/.test(name),
  createReader: () => readEvent,
  provider: 'openai',
  tellsCost: false,
  countsSession: true,
}

function readEvent(event: JsonObject): readonly ProgramEvent[] {
  switch (event['type']) {
    case 'thread.started':
      return [{ type: 'session', id: textIn(event, 'thread_id') }]
    case 'item.started':
      return startOf(event['item'])
    case 'item.completed':
      return endOf(event['item'])
    case 'turn.completed':
      return [usageOf(event['usage'])]
    case 'turn.failed':
      return [{ type: 'failed', message: textIn(event, 'error', 'message') }]
    default:
      return []
  }
}

/** The tools by item type: their name, and the fields that are their input. */
const tools: { readonly [type: string]: readonly [name: string, ...fields: readonly string[]] } = {
  command_execution: ['shell', 'command'],
  file_change: ['file_change', 'changes'],
  web_search: ['web_search', 'query'],
  mcp_tool_call: ['mcp', 'server', 'tool', 'arguments'],
}

function startOf(item: Json | undefined): readonly ProgramEvent[] {
  const known = tools[textIn(item, 'type')]
  if (known === undefined) return []
  const [name, ...fields] = known
  const input = Object.fromEntries(fields.map((field) => [field, valueIn(item, field) ?? null]))
  return [{ type: 'tool', id: textIn(item, 'id'), name, input }]
}

function endOf(item: Json | undefined): readonly ProgramEvent[] {
  if (textIn(item, 'type') === 'agent_message') return [{ type: 'message', text: textIn(item, 'text') }]
  const begun = startOf(item)
  if (begun.length === 0) return []
  const isError = textIn(item, 'status') === 'failed'
  // only some items report their start; those must not start twice
  return [...begun, { type: 'tool_end', id: textIn(item, 'id'), output: outputOf(item), isError }]
}

function outputOf(item: Json | undefined): string {
  const printed = textIn(item, 'aggregated_output')
  if (printed !== '') return printed
  const given = valueIn(item, 'error') ?? valueIn(item, 'result')
  if (isJsonObject(given) && typeof given['message'] === 'string') return given['message']
  return given === undefined || given === null ? textIn(item, 'status') : JSON.stringify(given)
}

function usageOf(usage: Json | undefined): ProgramEvent {
  const written = countIn(usage, 'cache_write_input_tokens')
  return {
    type: 'usage',
    usage: {
      calls: 1,
      input: countIn(usage, 'input_tokens'),
      output: countIn(usage, 'output_tokens'),
      cached: countIn(usage, 'cached_input_tokens'),
      reasoning: countIn(usage, 'reasoning_output_tokens'),
      ...(written === 0 ? {} : { cache_write: written }),
    },
  }
}
