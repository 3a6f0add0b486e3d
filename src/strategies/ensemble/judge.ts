import { modelText } from '../../base/model-text.ts'
import { attribute, framed } from '../../base/frame.ts'
import { compileSchema } from '../../base/json-schema.ts'
import type { OutputSchema } from '../../load/output-schema.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { quoted } from './synthesis.ts'
import type { MemberView } from './views.ts'

/** The answer of a judge. */
export type Judgement = { readonly winner: string; readonly reason: string }

/** The schema of that answer: the name of one of these members, and why. */
export async function judgementSchema(names: readonly string[], target: PromptTarget): Promise<OutputSchema> {
  const schema = {
    type: 'object',
    properties: {
      reason: { type: 'string', description: modelText`Why, in one to three sentences.` },
      winner: { type: 'string', enum: [...names], description: modelText`The name of the member whose work is used.` },
    },
    required: ['reason', 'winner'],
    additionalProperties: false,
  }
  const compiled = await compileSchema(schema)
  if (compiled.kind !== 'ok') throw new Error('the schema of a judgement is valid')
  return { ...compiled.compiled, placeAt: () => target.placeOf(['ensemble'], 'key') }
}

/** The instruction to a judge, which follows that of the members. */
export function judgeQuestion(views: readonly MemberView[], diffs: ReadonlyMap<string, string>): string {
  const shown = views.flatMap((view) => {
    const diff = diffs.get(view.name) ?? ''
    if (view.status !== 'answered') return [quoted(view)]
    const name = `member="${attribute(view.name)}" `
    return [quoted(view), diff === '' ? framed('no_changes', name.trim(), '') : framed('changes', name.trim(), diff)]
  })
  return [
    modelText`Several agents have worked on the request above, independently and each in its own copy of the files. These are their answers and their changes, as diffs:`,
    ...shown,
    modelText`Choose the one whose work is used as it is; the work of the others is discarded. The criteria, in this order: it does everything that was requested; it breaks nothing; it changes nothing else. Judge the changes, not what the answer says about them. Do not change any files.`,
  ].join('\n\n')
}
