import type { Json, JsonObject } from '../../../base/json.ts'
import type { SandboxMode } from '../../../event/sandbox-rights.ts'
import { countIn, type EventReader, type ProgramEvent, textIn, valueIn } from '../program-event.ts'
import type { Preset } from './preset.ts'

/** Its plan mode is read-only. */
const approvalModes: { readonly [mode in SandboxMode]: string } = {
  'read-only': 'plan',
  'workspace-write': 'auto_edit',
  'danger-full-access': 'yolo',
}

/** Gemini CLI without its screen, which it skips if it gets a prompt or input. */
export const gemini: Preset = {
  args: ({ model, mode, session, args, prompt }) => [
    '--output-format',
    'stream-json',
    '--approval-mode',
    approvalModes[mode],
    ...(model === undefined ? [] : ['--model', model]),
    ...(session === undefined ? [] : ['--resume', session]),
    ...args,
    ...(prompt === undefined ? [] : [`--prompt=${prompt}`]),
  ],
  passes: (name) => /^(?:GEMINI_|GOOGLE_)/.test(name),
  createReader,
  provider: 'gemini',
  tellsCost: false,
}

/** Its messages arrive in pieces; only the next event shows that one is complete. */
function createReader(): EventReader {
  let written = ''

  function complete(): readonly ProgramEvent[] {
    const text = written
    written = ''
    return text === '' ? [] : [{ type: 'message', text }]
  }

  return (event) => {
    switch (event['type']) {
      case 'init':
        return [
          { type: 'session', id: textIn(event, 'session_id') },
          { type: 'model', name: textIn(event, 'model') },
        ]
      case 'message': {
        if (event['role'] !== 'assistant') return []
        const text = textIn(event, 'content')
        written += text
        return [{ type: 'piece', text }]
      }
      case 'tool_use': {
        const { parameters = {} } = event
        const [id, name] = [textIn(event, 'tool_id'), textIn(event, 'tool_name')]
        return [...complete(), { type: 'tool', id, name, input: parameters }]
      }
      case 'tool_result':
        return [...complete(), toolEnd(event)]
      case 'result':
        return [...complete(), ...endOf(event)]
      default:
        return []
    }
  }
}

function toolEnd(event: JsonObject): ProgramEvent {
  const isError = event['status'] === 'error'
  const output = textIn(event, 'output') || textIn(event, 'error', 'message') || textIn(event, 'status')
  return { type: 'tool_end', id: textIn(event, 'tool_id'), output, isError }
}

function endOf(event: JsonObject): readonly ProgramEvent[] {
  const used: ProgramEvent = { type: 'usage', usage: usageOf(event['stats']) }
  if (event['status'] === 'success') return [used]
  return [used, { type: 'failed', message: textIn(event, 'error', 'message') || textIn(event, 'status') }]
}

/**
 * `input_tokens` includes cached ones. The number of requests is not reported, so one is counted; it is at most one more
 * for each tool call.
 */
function usageOf(stats: Json | undefined) {
  return {
    calls: 1,
    input: countIn(stats, 'input_tokens'),
    output: Math.max(countIn(stats, 'output_tokens'), countIn(stats, 'total_tokens') - countIn(stats, 'input_tokens')),
    cached: countIn(stats, 'cached'),
    reasoning: countIn(valueIn(stats), 'thoughts'),
  }
}
