import { join } from 'node:path'
import { isObject } from '../base/json.ts'
import { addUsage, noUsage } from '../event/message.ts'
import type { Prompt, PromptOutput, PromptState } from '../event/prompt.ts'
import { answersIn, answersOnly } from '../history/answers.ts'
import { readRunSummary } from '../history/run-list.ts'
import { withView } from '../history/run-view.ts'
import { findRun } from '../journal/find-run.ts'
import type { RunStatus } from '../journal/summary.ts'
import { noMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'
import { invocationOf } from '../run/record.ts'
import { findChat, listChats } from './chat-list.ts'

/**
 * The prompts of a recorded conversation, oldest first, with their outputs. Secrets are shown by name.
 * @param runs the folder of all runs
 * @param id of a chat, which is a conversation of `baton serve`, too; or of the run of a conversation of a program; or
 * the start of an id; `last`: the newest chat
 * @throws BatonError USAGE if there is none, or several
 */
export async function recordedPrompts(runs: string, id: string): Promise<readonly Prompt[]> {
  const isChat = id === 'last' || (id !== '' && listChats(runs).some((chat) => chat.id.startsWith(id)))
  if (!isChat) return (await readRun(findRun(runs, id))).prompts
  const messages = findChat(runs, id).messages.filter(({ kind }) => kind === 'message')
  const all = await Promise.all(messages.map(async ({ run }) => promptOfMessage(join(runs, run), run)))
  return all.flat()
}

/** A message of a chat is one prompt, with the id of its run, whatever it took to answer it. */
async function promptOfMessage(folder: string, id: string): Promise<readonly Prompt[]> {
  const summary = await readRunSummary(folder)
  if (summary === undefined || summary.begun === false) return []
  const { prompts, input } = await readRun(folder, ofMainAgent)
  const [first] = prompts
  const last = prompts.at(-1)
  if (first !== undefined && last !== undefined) {
    const { input: asked, usage: _, output: __, ...own } = first
    const text = input ?? asked
    return [
      {
        ...own,
        id,
        ...(text === undefined ? {} : { input: text }),
        state: last.state,
        output: prompts.flatMap(({ output }) => output),
        usage: prompts.reduce((sum, { usage = noUsage }) => addUsage(sum, usage), noUsage),
      },
    ]
  }
  // something else than the model of the chat has answered, or an earlier version recorded it
  const { asked, answers } = await withView(folder, answersOnly, answersIn)
  const text = input ?? asked
  const end = { start: summary.started, end: summary.ended ?? summary.started }
  const output = answers.map((answer): PromptOutput => ({ type: 'text', text: answer.text, ...end }))
  const state = stateOf(summary.status)
  const own = { id, userId: 'local', mode: 'classic', model: 'normal', visible: true, state, output }
  return [{ ...own, ...(text === undefined || text === null ? {} : { input: text }) }]
}

/** The conversation of the main agent of a task. */
const ofMainAgent = /^(?:redo\/\d+\/)?task\/\d+\/agent\/ask(?:\/turn\/\d+)?$/

/** The prompts that a run has recorded, each as it has ended last, and what was asked instead of the text of a file. */
async function readRun(
  folder: string,
  place = /^/,
): Promise<{ readonly prompts: readonly Prompt[]; readonly input: string | undefined }> {
  const source = openFileRecords(folder, { mask: noMask })
  const prompts = new Map<string, Prompt>()
  let input: string | undefined
  try {
    await source.scan((record) => {
      if (record.k === 'run.start') {
        const { instruction, text } = invocationOf(source.value(record.facts)) ?? {}
        input = instruction ?? (text === '' ? undefined : text)
      }
      if (record.k !== 'prompt' || !place.test(record.p)) return
      const prompt: unknown = source.value(record.prompt)
      if (isObject(prompt) && typeof prompt['id'] === 'string') prompts.set(prompt['id'], prompt as unknown as Prompt)
    })
  } finally {
    source.close()
  }
  return { prompts: [...prompts.values()], input }
}

function stateOf(status: RunStatus): PromptState {
  switch (status) {
    case 'running':
      return 'running'
    case 'cancelled':
    case 'interrupted':
      return 'cancelled'
    case 'waiting':
    case 'waiting_for_approval':
    case 'suspended':
      return 'waiting_for_approval'
    case 'failed':
      return 'failed'
    case 'done':
    case 'skipped':
    case 'partial':
    case 'budget':
    case 'limit':
    case 'until_not_met':
      return 'completed'
  }
}
