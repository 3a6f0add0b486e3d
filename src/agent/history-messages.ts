import { cutText } from '../base/cut-text.ts'
import { isJsonObject, plainText } from '../base/json.ts'
import { modelText } from '../base/model-text.ts'
import { type Message, textMessage } from '../event/message.ts'
import { stoppedAnswer } from '../event/stopped-answer.ts'
import type { Prompt, PromptOutput, PromptTool } from '../event/prompt.ts'

/** Characters of a tool's line. */
const mostCharacters = 2000

/**
 * Earlier prompts as messages, oldest first, depending on the outputs and not on the mode: text and
 * programs become assistant messages, the result of a program a user message, any other tool one line of a user
 * message.
 */
export function historyMessages(prompts: readonly Prompt[]): readonly Message[] {
  return prompts.flatMap((prompt) => [
    ...(prompt.input === undefined || prompt.input === '' ? [] : [textMessage('user', prompt.input)]),
    ...answerMessages(prompt),
  ])
}

function answerMessages({ state, output }: Prompt): readonly Message[] {
  if (state !== 'cancelled' && state !== 'failed') return output.flatMap(outputMessages)
  const last = output.at(-1)
  const text = last?.type === 'text' && last.interim !== true ? last.text : undefined
  const before = text === undefined ? output : output.slice(0, -1)
  return [...before.flatMap(outputMessages), stoppedAnswer(text ?? '', state === 'cancelled')]
}

function outputMessages(output: PromptOutput): readonly Message[] {
  switch (output.type) {
    case 'text':
      return output.text === '' || output.note === true ? [] : [textMessage('assistant', output.text)]
    case 'file':
      return [{ role: 'user', parts: [output.file] }]
    case 'tool':
      return output.function === 'code.execute' ? programMessages(output) : [textMessage('user', toolLine(output))]
  }
}

function programMessages(output: PromptTool): readonly Message[] {
  const code = isJsonObject(output.input) ? output.input['code'] : undefined
  const result = resultText(output)
  return [
    textMessage('assistant', typeof code === 'string' ? code : plainText(output.input)),
    ...(result === '' ? [] : [textMessage('user', result)]),
  ]
}

/** `tool(input) → result`. */
function toolLine(output: PromptTool): string {
  return cutText(`${output.function}(${plainText(output.input)}) → ${resultText(output)}`, mostCharacters)
}

function resultText({ result }: PromptTool): string {
  switch (result.type) {
    case 'success':
      return result.output
    case 'error':
      return modelText`error: ${result.error}`
    case 'pending':
      return modelText`not finished`
  }
}
