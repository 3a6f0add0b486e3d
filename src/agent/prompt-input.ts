import { modelText } from '../base/model-text.ts'
import { attribute, framed } from '../base/frame.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { isReserved } from '../settings/keys.ts'
import type { CallerVariables, PromptInput } from '../event/agent.ts'

/**
 * The input of a prompt file as a sub-agent: the current instruction; in the stages of a task also the task, in
 * `post_task` the answer, in `post` the answers and errors of all tasks. `input` is what script agents get.
 */
export function chainPromptInput(input: JsonObject): PromptInput {
  const entry = input['agent_config']
  return { value: input, text: chainText(input), variables: entryVariables(isJsonObject(entry) ? entry : {}) }
}

/** The additional keys of an entry of `sub_agents`: values for the variables of the file. */
export function entryVariables({
  name: _name,
  enabled: _enabled,
  stage: _stage,
  merge: _merge,
  as: _as,
  options: _options,
  ...values
}: JsonObject): CallerVariables {
  return { values, others: 'refused' }
}

/** The input of a prompt file that a script runs: a string unchanged, nil as an empty text, other values as JSON. */
export function callPromptInput(value: Json): PromptInput {
  const variables = { values: isJsonObject(value) ? withoutLabels(value) : {}, others: 'refused' } as const
  if (value === null) return { value, text: '', variables }
  return { value, text: typeof value === 'string' ? value : JSON.stringify(value, null, 2), variables }
}

/** Keys such as `_display` are labels for users. */
function withoutLabels(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('_')))
}

/**
 * The input of a prompt file that answers instead of the main agent: the instruction and the task. Its variables get
 * the values of the same name from the file that names it, else from its params.
 */
export function questionPromptInput(question: JsonObject): PromptInput {
  const { instruction, params, vars, stdin, members } = question
  return {
    value: question,
    text: partsText(textOf(instruction), [
      stdin === undefined ? '' : quote('stdin', '', textOf(stdin)),
      // not repeated if the instruction is the input
      question['input'] === instruction ? '' : taskPart(question),
      ...memberParts(members),
    ]),
    variables: {
      values: {
        ...ownParams(params),
        ...(isJsonObject(vars) ? vars : {}),
        ...(members === undefined ? {} : { members }),
      },
      others: 'ignored',
    },
  }
}

function ownParams(params: Json | undefined): JsonObject {
  if (!isJsonObject(params)) return {}
  return Object.fromEntries(Object.entries(params).filter(([key]) => !isReserved(key)))
}

function chainText(input: JsonObject): string {
  const instruction = textOf(input['coder_prompt'])
  switch (input['coder_stage']) {
    case 'pre_task':
      return partsText(instruction, [taskPart(input)])
    case 'post_task':
      return partsText(instruction, [taskPart(input), answerPart(input['ai_response'])])
    case 'post':
      return partsText(instruction, responseParts(input['coder_responses']))
    default:
      return instruction
  }
}

/** An instruction alone is not quoted, so the prompt looks as users expect. */
function partsText(instruction: string, others: readonly string[]): string {
  const given = others.filter((part) => part !== '')
  return given.length === 0 ? instruction : [quote('instruction', '', instruction), ...given].join('\n\n')
}

function taskPart({ input, task }: JsonObject): string {
  const label = isJsonObject(task) ? labelOf(task) : ''
  if (typeof input === 'string') return quote('task', label, input)
  const files = isJsonObject(input) && Array.isArray(input['files']) ? (input['files'] as readonly Json[]) : []
  return files.length === 0
    ? ''
    : quote('task', label, modelText`Files to work on:\n${files.map((file) => `- ${textOf(file)}`).join('\n')}`)
}

function answerPart(response: Json | undefined): string {
  const content = isJsonObject(response) ? response['content'] : undefined
  return content === undefined ? '' : quote('answer', '', textOf(content))
}

function responseParts(responses: Json | undefined): readonly string[] {
  const list = Array.isArray(responses) ? (responses as readonly Json[]) : []
  return list.filter(isJsonObject).map((response) => {
    const label = labelOf(response)
    if (response['error'] !== undefined) return quote('error', label, textOf(response['error']))
    if (response['skipped'] !== undefined) return quote('skipped', label, textOf(response['skipped']))
    return quote('answer', label, textOf(response['content']))
  })
}

/** The answers of the members of an ensemble, and the errors of members without an answer. */
function memberParts(members: Json | undefined): readonly string[] {
  const list = Array.isArray(members) ? (members as readonly Json[]) : []
  return list.filter(isJsonObject).map(({ name, status, content, error }) => {
    const who = `member="${attribute(textOf(name))}" `
    if (status === 'answered') return quote('answer', who, textOf(content))
    return quote('error', who, isJsonObject(error ?? null) ? textOf((error as JsonObject)['message']) : textOf(status))
  })
}

function labelOf({ label }: JsonObject): string {
  return typeof label === 'string' && label !== '' ? `task="${attribute(label)}" ` : ''
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** `lines` tells where the content ends, so text that contains quotes stays one block. */
function quote(tag: string, attributes: string, content: string): string {
  const body = content.replace(/\n$/, '')
  return framed(tag, `${attributes}lines="${body.split('\n').length}"`, body)
}
