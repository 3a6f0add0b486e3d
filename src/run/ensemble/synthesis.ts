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
    `Others have answered what stands above, each without the others (${count} answered). These are their answers:`,
    ...views.map(quoted),
    isText ? asText : asValue,
  ].join('\n\n')
}

const asText = `Make one answer of them. Write, in this order, and leave out a part that has nothing in it:

1. Consensus: what all of them say.
2. Said by some: what only some of them say, each point with the names of those who say it.
3. Contradictions: where they contradict each other, with the names of who says what, and what is right as far as you can tell.
4. Answer: the one answer to what was asked, with the best of all of them.

What most of them say need not be right. Say nothing that is in none of the answers and that you cannot show.`

const asValue = `Make one answer of them. Find out first what all of them say, what only some of them say, and where they contradict each other; what most of them say need not be right. Then answer what was asked.`

/** The answer of a member, or why it has none, with its name. */
export function quoted(view: MemberView): string {
  const name = `member="${attribute(view.name)}" `
  if (view.status === 'answered') return framed('answer', `${name}lines="${linesOf(view.content)}"`, view.content)
  return framed('no_answer', `${name}status="${view.status}"`, errorText(view))
}

function linesOf(text: string): number {
  return text.replace(/\n$/, '').split('\n').length
}
