import type { Json, JsonObject } from '../../../base/json.ts'
import type { SandboxMode } from '../../../event/sandbox-rights.ts'
import { countIn, listIn, type ProgramEvent, textIn, valueIn } from '../program-event.ts'
import type { Preset } from './preset.ts'

/**
 * Claude Code in print mode. It cannot ask anybody there: a call that its permission mode does not allow is refused. It
 * has no sandbox, so read-only removes the tools that change something.
 */
const modeFlags: { readonly [mode in SandboxMode]: readonly string[] } = {
  'read-only': ['--permission-mode', 'default', '--disallowedTools=Edit,Write,NotebookEdit,Bash'],
  'workspace-write': ['--permission-mode', 'acceptEdits'],
  'danger-full-access': ['--permission-mode', 'bypassPermissions'],
}

export const claude: Preset = {
  args: ({ model, mode, session, args, prompt }) => [
    '-p',
    '--output-format',
    'stream-json',
    '--verbose',
    '--include-partial-messages',
    ...modeFlags[mode],
    ...(model === undefined ? [] : ['--model', model]),
    ...(session === undefined ? [] : ['--resume', session]),
    ...args,
    ...(prompt === undefined ? [] : ['--', prompt]),
  ],
  // variables that an editor or another Claude Code around us has set are not for this one
  passes: (name) => /^(?:ANTHROPIC_|CLAUDE_)/.test(name) && !/^CLAUDE_CODE_(?:SSE_PORT|ENTRYPOINT)$/.test(name),
  createReader: () => readEvent,
  provider: 'anthropic',
  tellsCost: true,
}

function readEvent(event: JsonObject): readonly ProgramEvent[] {
  // messages of its own sub-agents are not the answer
  if (textIn(event, 'parent_tool_use_id') !== '') return []
  switch (event['type']) {
    case 'system':
      return event['subtype'] === 'init' ? [{ type: 'session', id: textIn(event, 'session_id') }] : []
    case 'stream_event':
      return textIn(event, 'event', 'delta', 'type') === 'text_delta'
        ? [{ type: 'piece', text: textIn(event, 'event', 'delta', 'text') }]
        : []
    case 'assistant':
      return [...modelOf(event), ...listIn(event, 'message', 'content').flatMap(blockOf)]
    case 'user':
      return listIn(event, 'message', 'content').flatMap(resultOf)
    case 'result':
      return endOf(event)
    default:
      return []
  }
}

/** Messages of the program itself, not of a model, have a model name in angle brackets. */
function modelOf(event: JsonObject): readonly ProgramEvent[] {
  const name = textIn(event, 'message', 'model')
  return name === '' || name.startsWith('<') ? [] : [{ type: 'model', name }]
}

function blockOf(block: Json): readonly ProgramEvent[] {
  switch (textIn(block, 'type')) {
    case 'text':
      return [{ type: 'message', text: textIn(block, 'text') }]
    case 'tool_use':
      return [
        { type: 'tool', id: textIn(block, 'id'), name: textIn(block, 'name'), input: valueIn(block, 'input') ?? {} },
      ]
    default:
      return []
  }
}

function resultOf(block: Json): readonly ProgramEvent[] {
  if (textIn(block, 'type') !== 'tool_result') return []
  const content = valueIn(block, 'content')
  const output =
    typeof content === 'string'
      ? content
      : listIn(block, 'content')
          .map((part) => textIn(part, 'text'))
          .join('\n')
  const isError = valueIn(block, 'is_error') === true
  return [{ type: 'tool_end', id: textIn(block, 'tool_use_id'), output, isError }]
}

function endOf(event: JsonObject): readonly ProgramEvent[] {
  const { subtype, is_error: isError, result, total_cost_usd: cost } = event
  const cached = countIn(event, 'usage', 'cache_read_input_tokens')
  const written = countIn(event, 'usage', 'cache_creation_input_tokens')
  const usage = {
    calls: Math.max(1, countIn(event, 'num_turns')),
    input: countIn(event, 'usage', 'input_tokens') + cached + written,
    output: countIn(event, 'usage', 'output_tokens'),
    cached,
    reasoning: 0,
    ...(written === 0 ? {} : { cache_write: written }),
  }
  const used: ProgramEvent = { type: 'usage', usage, ...(typeof cost === 'number' ? { costUsd: cost } : {}) }
  const text = typeof result === 'string' ? result : ''
  if (isError === true || subtype !== 'success') {
    const errors = listIn(event, 'errors').filter((one) => typeof one === 'string')
    const why = text || errors.join('; ') || textIn(event, 'subtype').replaceAll('_', ' ')
    return [used, { type: 'failed', message: why }]
  }
  return [used, { type: 'answer', text }]
}
