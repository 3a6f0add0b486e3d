import { modelText } from '../../base/model-text.ts'
import { attribute, framed } from '../../base/frame.ts'
import { errorText, type MemberView } from './views.ts'

interface Synthesis {
  readonly views: readonly MemberView[]
  /** Whether the answer is text instead of a value of `[output]`. */
  readonly isText: boolean
}

/** The instruction for combining several answers, which follows the instruction of the members. */
export function synthesisQuestion({ views, isText }: Synthesis): string {
  const answered = views.filter(({ status }) => status === 'answered')
  const count = answered.length === views.length ? `${views.length}` : `${answered.length} of ${views.length}`
  return [
    modelText`Several agents have answered the request above independently (${count} answered). These are their answers:`,
    ...views.map(quoted),
    isText ? asText : asValue,
  ].join('\n\n')
}

const asText = modelText`Combine them into one answer. Write these parts in this order, and omit a part that would be empty:

1. Consensus: what all of them say.
2. Said by some: what only some of them say, each point with the names of those who say it.
3. Contradictions: where they contradict each other, who says what, and which is right as far as you can tell.
4. Answer: one answer to the request, with the best of all of them.

The majority is not necessarily right. Add nothing that is in none of the answers unless you can prove it.`

const asValue = modelText`Combine them into one answer. First find out what all of them say, what only some of them say, and where they contradict each other; the majority is not necessarily right. Then answer the request.`

/** The answer of a member, or why it has none, with its name. */
export function quoted(view: MemberView): string {
  const name = `member="${attribute(view.name)}" `
  if (view.status === 'answered') return framed('answer', `${name}lines="${linesOf(view.content)}"`, view.content)
  return framed('no_answer', `${name}status="${view.status}"`, errorText(view))
}

function linesOf(text: string): number {
  return text.replace(/\n$/, '').split('\n').length
}
