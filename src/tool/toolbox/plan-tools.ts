import { resolve } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { part } from '../../event/place.ts'
import { planFileChange } from './plan-file-change.ts'
import { defineTool, type ToolCall, type ToolOutput } from './kind.ts'
import { pathSubject } from './paths.ts'
import { diffHead, diffNames, type GitChange, plainMode } from '../../base/git-diff.ts'
import { sizeText } from '../../base/size.ts'
import { createTextThread } from '../changes/text-thread.ts'
import { readText, statusAt } from '../workspace-reads.ts'

interface EnterInput {
  readonly path?: string
}

const defaultPath = 'plan.md'

/** Starts plan mode: the model can only read and write its plan. */
export const enterPlan = defineTool<EnterInput>({
  name: 'enter_plan',
  description: modelText`Start plan mode, for a change that affects several files or needs investigation first. Until it ends you can only read, and write the plan to one Markdown file with write and edit. When the plan is ready, call exit_plan: the user reviews it, and approves it or asks for changes.`,
  parameters: {
    type: 'object',
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description: modelText`The file for the plan, relative to the base folder; default: ${defaultPath}.`,
      },
    },
    additionalProperties: false,
  },
  subject: ({ path = defaultPath }, box) => pathSubject(path, box),
  async run({ path = defaultPath }, call) {
    const { box, context, at } = call
    const { effects } = context.services
    const present = box.plan.file()
    if (present !== undefined) {
      return {
        text: modelText`plan mode is already on: the plan is ${displayPath(realPath(box.baseDir), present)}`,
        isError: true,
      }
    }
    if (!/\.(?:md|markdown)$/i.test(path)) {
      return { text: modelText`the plan is a Markdown file: ${path} does not end in .md`, isError: true }
    }
    const problem = await effects.observeAsync([...at, part('plan')], { name: 'plan_file', args: [path] }, () =>
      problemWith(path, call),
    )
    if (problem !== '') return { text: problem, isError: true }
    return {
      text: modelText`Plan mode is on. You can read, and write the plan to ${path}. Investigate, and write down what to change, where, in which order, and how to verify it. Then call exit_plan.`,
      plan: realPath(resolve(box.baseDir, path)),
    }
  },
})

/** Why a plan cannot be written there; empty if it can. @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED */
async function problemWith(filePath: string, call: ToolCall): Promise<string> {
  const { plan } = await planFileChange({ kind: 'New', filePath, content: '# Plan\n' }, call)
  return plan.kind === 'refused' ? plan.text : ''
}

/** Nobody reads a longer plan. */
const mostBytes = 256 * 1024

/** Shows the plan to the user, and ends plan mode if they approve it. */
export const exitPlan = defineTool<object>({
  name: 'exit_plan',
  description: modelText`Show your plan to the user, and end plan mode if they approve it. If they ask for changes, update the plan and call this again.`,
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  preview: (_, call) => planDiff(call),
  async run(_, call) {
    const { box, context, at, permit } = call
    const { effects } = context.services
    const asked = { name: 'plan', args: [] }
    const shown = await effects.observeAsync([...at, part('plan')], asked, async () => {
      const diff = await planDiff(call)
      if (typeof diff === 'object') return diff.text
      const { action } = permit
      const approved = action.kind === 'tool' ? action.diff : undefined
      return approved === undefined || approved === diff
        ? ''
        : 'the plan has changed since it was shown: call exit_plan again'
    })
    if (shown !== '') return { text: shown, isError: true }
    const file = displayPath(box.baseDir, box.plan.file() ?? '')
    return { text: modelText`The plan in ${file} is approved, and plan mode is off: carry it out now.`, plan: false }
  },
})

/** The plan as the user sees it: the diff of a new file; an output if there is no plan. */
async function planDiff({ box, context }: Omit<ToolCall, 'permit'>): Promise<string | ToolOutput> {
  const file = box.plan.file()
  if (file === undefined) return failed('plan mode is off: there is no plan to show')
  const named = displayPath(box.baseDir, file)
  const entry = context.services.planned?.at(file)
  const planned = entry?.kind === 'file' ? entry.text : undefined
  const { kind, size = 0 } = planned === undefined ? (statusAt(file) ?? {}) : { kind: 'file', size: planned.length }
  if (kind !== 'file' || size === 0) return failed(`there is no plan yet: write it to ${named} first`)
  if (size > mostBytes) return failed(`the plan has ${sizeText(size)}: at most ${sizeText(mostBytes)} can be shown`)
  const text = planned ?? readText(file, context)
  const change: GitChange = {
    kind: 'created',
    path: displayPath(context.scope.folders.workspace, file),
    mode: plainMode,
  }
  const thread = createTextThread(context.services.signal)
  return diffHead(change) + (await thread.work('unifiedDiff', '', text, diffNames(change)))
}

function failed(text: string): ToolOutput {
  return { text, isError: true }
}
