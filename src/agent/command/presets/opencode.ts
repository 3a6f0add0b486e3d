import type { Json, JsonObject } from '../../../base/json.ts'
import type { SandboxMode } from '../../../event/sandbox-rights.ts'
import { countIn, type ProgramEvent, textIn, valueIn } from '../program-event.ts'
import type { Preset } from './preset.ts'

/** Its agents: `plan` is for exploring; the permission it gets denies everything else. */
const agentFlags: { readonly [mode in SandboxMode]: readonly string[] } = {
  'read-only': ['--agent', 'plan'],
  'workspace-write': ['--agent', 'build'],
  'danger-full-access': ['--agent', 'build', '--auto'],
}

/** It supports many providers. */
const keys =
  /^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE|GOOGLE_GENERATIVE_AI|GROQ|OPENROUTER|XAI|MISTRAL|DEEPSEEK|COHERE|TOGETHER|FIREWORKS|CEREBRAS|ZAI|MOONSHOT)_API_KEY$/

/** `opencode run`. Calls that would ask the user are refused. */
export const opencode: Preset = {
  args: ({ model, mode, session, args, prompt }) => [
    'run',
    '--format',
    'json',
    ...agentFlags[mode],
    ...(model === undefined ? [] : ['--model', model]),
    ...(session === undefined ? [] : ['--session', session]),
    ...args,
    ...(prompt === undefined ? [] : ['--', prompt]),
  ],
  env: (mode): Readonly<Record<string, string>> =>
    mode === 'read-only' ? { OPENCODE_PERMISSION: '{"edit":"deny","bash":"deny"}' } : {},
  passes: (name) => name.startsWith('OPENCODE_') || keys.test(name),
  createReader: () => readEvent,
  provider: undefined,
  tellsCost: true,
}

function readEvent(event: JsonObject): readonly ProgramEvent[] {
  const { part } = event
  switch (event['type']) {
    case 'step_start':
      return [{ type: 'session', id: textIn(event, 'sessionID') }]
    case 'text':
      return [{ type: 'message', text: textIn(part, 'text') }]
    case 'tool_use':
      return toolOf(part)
    case 'step_finish':
      return [usageOf(part)]
    case 'error':
      return [
        {
          type: 'failed',
          message: textIn(event, 'error', 'data', 'message') || textIn(event, 'error', 'name') || 'it failed',
        },
      ]
    default:
      return []
  }
}

/** Reported once, when the call has ended. */
function toolOf(part: Json | undefined): readonly ProgramEvent[] {
  const id = textIn(part, 'callID')
  const isError = textIn(part, 'state', 'status') === 'error'
  const output = textIn(part, 'state', isError ? 'error' : 'output')
  return [
    { type: 'tool', id, name: textIn(part, 'tool'), input: valueIn(part, 'state', 'input') ?? {} },
    { type: 'tool_end', id, output, isError },
  ]
}

/**
 * Its input excludes cached tokens, its output excludes reasoning. A cost of 0 means that it does not know the price of
 * the model.
 */
function usageOf(part: Json | undefined): ProgramEvent {
  const [cached, written] = [countIn(part, 'tokens', 'cache', 'read'), countIn(part, 'tokens', 'cache', 'write')]
  const reasoning = countIn(part, 'tokens', 'reasoning')
  const cost = countIn(part, 'cost')
  return {
    type: 'usage',
    usage: {
      calls: 1,
      input: countIn(part, 'tokens', 'input') + cached + written,
      output: countIn(part, 'tokens', 'output') + reasoning,
      cached,
      reasoning,
      ...(written === 0 ? {} : { cache_write: written }),
    },
    ...(cost === 0 ? {} : { costUsd: cost }),
  }
}
