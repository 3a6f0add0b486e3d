import { type Fence, fenceOf } from '../../../script/javascript/fence.ts'

/** The program in an answer; `nothing` if it has none; `unclear`, with the reason, if it is ambiguous. */
export type AnswerProgram =
  | { readonly kind: 'program'; readonly code: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unclear'; readonly problem: string }

const languages: ReadonlySet<string> = new Set(['', 'js', 'javascript', 'mjs', 'jsx', 'ts', 'typescript', 'mts', 'tsx'])

/**
 * Finds the program in a model's answer: the whole answer, or the only block between Markdown fences, whatever text is
 * around it. Blocks in other languages do not count.
 */
export function programIn(answer: string): AnswerProgram {
  const lines = answer.replaceAll('\r\n', '\n').split('\n')
  const blocks: string[] = []
  let others = 0
  let opened: (Fence & { readonly line: number }) | undefined
  for (const [index, line] of lines.entries()) {
    const fence = fenceOf(line)
    if (fence === undefined) continue
    if (opened === undefined) opened = { ...fence, line: index }
    else if (closes(fence, opened)) {
      if (languages.has(languageOf(opened))) blocks.push(lines.slice(opened.line + 1, index).join('\n'))
      else others += 1
      opened = undefined
    }
  }
  // an unclosed block extends to the end, as in Markdown
  if (opened !== undefined && languages.has(languageOf(opened))) blocks.push(lines.slice(opened.line + 1).join('\n'))
  else if (opened !== undefined) others += 1

  const [only = '', ...more] = blocks
  if (more.length > 0) {
    return {
      kind: 'unclear',
      problem: `the answer has ${blocks.length} fenced blocks: it must be one program, in one block`,
    }
  }
  if (blocks.length === 0 && others > 0) {
    return { kind: 'unclear', problem: 'the answer has a fenced block that is not JavaScript: it must be one program' }
  }
  const code = blocks.length === 0 ? answer : only
  return code.trim() === '' ? { kind: 'nothing' } : { kind: 'program', code }
}

/** The first word after the marks, in lower case. */
function languageOf({ info }: Fence): string {
  return info.split(/[\s{,]/, 1)[0]?.toLowerCase() ?? ''
}

function closes(fence: Fence, opened: Fence): boolean {
  return languageOf(fence) === '' && fence.marks.startsWith(opened.marks)
}
