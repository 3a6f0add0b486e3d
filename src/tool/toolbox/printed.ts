import type { OutputWindow } from '../shell/output-window.ts'
import { printedText } from '../shell/plain-text.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import { cutMiddle } from './output.ts'

/** What a command has printed since the last call, truncated to what a model gets at once. */
export function printedOutput(
  output: OutputWindow,
  /** `nothing`: the text to use if there is no output. `runs`: it may print more. */
  { nothing, runs }: { readonly nothing: string; readonly runs: boolean },
  { box: { outputs }, context }: Pick<ToolCall, 'box' | 'context'>,
): Pick<ToolOutput, 'text' | 'kept'> {
  const text = printedText(output.take({ isWhole: !runs })).replace(/\n+$/, '')
  return cutMiddle(text === '' ? nothing : text, { outputs, texts: context.services.texts })
}
