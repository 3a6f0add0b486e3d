import { fenceOf } from './fence.ts'
import type { ProgramError } from './program.ts'
import { evalFlags } from './quickjs.ts'

/** The text of a program in the form that the engine runs. */
export interface Source {
  readonly text: string
  readonly flags: number
  /** The result of the text: its value, or the value that an async script resolves to. */
  readonly result: 'value' | 'async'
  /** Characters put in front of the program's first line; undefined: columns do not match those of the program. */
  readonly shift: number | undefined
}

/** The engine's verdict on a text, without running it. */
export type SyntaxProblem = Omit<ProgramError, 'kind'>
export type CheckSyntax = (text: string, flags: number) => SyntaxProblem | undefined

/** The content of the single fence around the program, if any; line 1 is its first line. */
export function withoutFence(code: string): string {
  const lines = code.trim().split('\n')
  const fence = fenceOf(lines[0] ?? '')
  if (fence === undefined || lines.length < 2 || lines.at(-1)?.trim() !== fence.marks) return code
  return lines.slice(1, -1).join('\n')
}

/** Type arguments between a name and its call: valid JavaScript, but never meant as that. */
const genericCall = /[\w$]<[\w$][\w$ ,.[\]|&'"{}:;?<>]{0,200}>\(/

/**
 * The form that a program needs: unchanged, a script with top-level await, the body of an async function for `return`,
 * or a module; with types removed if it is TypeScript. A script keeps the value of its last expression. An error is
 * that of the program as written, at its position.
 */
export async function sourceOf(
  code: string,
  evalType: 'auto' | 'global' | 'module',
  check: CheckSyntax,
): Promise<Source | SyntaxProblem> {
  const { stripTypes } = genericCall.test(code) ? await import('./typescript.ts') : { stripTypes: undefined }
  const stripped = stripTypes?.(code)
  if (stripped?.kind === 'ok') {
    const source = formOf(stripped.text, evalType, { check, isStripped: true })
    if ('flags' in source) return source
  }
  const plain = formOf(code, evalType, { check, isStripped: false })
  if ('flags' in plain) return plain
  const { stripTypes: strip } = await import('./typescript.ts')
  const typed = strip(code)
  // its errors have the exact position; those of the engine only the line
  if (typed.kind === 'failed') return withoutKind(typed)
  const source = formOf(typed.text, evalType, { check, isStripped: true })
  return 'flags' in source ? source : plain
}

function withoutKind({ message, line, column }: SyntaxProblem): SyntaxProblem {
  return { message, ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) }
}

const wrapper = ['(async () => {', '\n})()'] as const

function formOf(
  text: string,
  evalType: 'auto' | 'global' | 'module',
  { check, isStripped }: { readonly check: CheckSyntax; readonly isStripped: boolean },
): Source | SyntaxProblem {
  const shift = isStripped ? undefined : 0
  if (evalType === 'module') return asModule(text, check, shift)
  const script: Source = { text, flags: evalFlags.script, result: 'value', shift }
  const problem = check(text, script.flags)
  if (problem === undefined || evalType === 'global') return problem ?? script
  const waiting: Source = { text, flags: evalFlags.async, result: 'async', shift }
  if (check(text, waiting.flags) === undefined) return waiting
  const [before, behind] = wrapper
  const wrapped = `${before}${text}${behind}`
  if (check(wrapped, script.flags) === undefined) {
    return { ...script, text: wrapped, shift: isStripped ? undefined : before.length }
  }
  if (!/^[ \t]*(?:import|export)\b/m.test(text)) return problem
  return asModule(text, check, shift)
}

function asModule(text: string, check: CheckSyntax, shift: number | undefined): Source | SyntaxProblem {
  return check(text, evalFlags.module) ?? { text, flags: evalFlags.module, result: 'value', shift }
}
