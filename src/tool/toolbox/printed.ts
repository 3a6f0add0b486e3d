import type { OutputWindow } from '../shell/output-window.ts'
import { printedText } from '../shell/plain-text.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import { cutMiddle } from './output.ts'

/** What a command has printed since the last time, as much of it as a model is given at once. */
export function printedOutput(
  output: OutputWindow,
  /** `nothing`: the text where that is none. `runs`: it may print more. */
  { nothing, runs }: { readonly nothing: string; readonly runs: boolean },
  { box: { outputs }, context }: Pick<ToolCall, 'box' | 'context'>,
): Pick<ToolOutput, 'text' | 'kept'> {
  const text = printedText(output.take({ isWhole: !runs })).replace(/\n+$/, '')
  return cutMiddle(text === '' ? nothing : text, { outputs, texts: context.services.texts })
}
