import { modelText } from '../../base/model-text.ts'
import { resolve } from 'node:path'
import { displayPath, realPath } from '../../base/files.ts'
import { part } from '../../event/place.ts'
import { planFileChange } from './plan-file-change.ts'
import { defineTool, type ToolCall } from './kind.ts'
import { pathSubject } from './paths.ts'

interface EnterInput {
  readonly path?: string
}

const usualPath = 'plan.md'

/** Starts plan mode: the model can only read and write its plan (R137). */
export const enterPlan = defineTool<EnterInput>({
  name: 'enter_plan',
  description: modelText`Start plan mode, for a change that affects several files or needs investigation first. Until it ends you can only read, and write the plan to one Markdown file with write and edit. When the plan is ready, call exit_plan: the user reviews it, and approves it or asks for changes.`,
  parameters: {
    type: 'object',
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description: modelText`The file for the plan, relative to the base folder; default: ${usualPath}.`,
      },
    },
    additionalProperties: false,
  },
  subject: ({ path = usualPath }, box) => pathSubject(path, box),
  async run({ path = usualPath }, call) {
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
