import type { AnswerLines } from './answer-lines.ts'
import { failDirective } from './directive.ts'
import { faultPiece, type Piece, textPiece } from './pieces.ts'
import { isContainer, isDirective } from './tag.ts'

/** As servers leave it in answers that they should have taken it out of, and as models are often told to write it. */
const reasoningNames = 'think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|seed:think'
const reasoningStart = new RegExp(`^\\s*(?:<(${reasoningNames})>|\\[(THINK)\\]|◁(think)▷)`, 'i')
const reasoningEnd = new RegExp(`^\\s*(?:</(?:${reasoningNames})>|\\[/THINK\\]|◁/think▷)`, 'i')
const commentStart = /^<!--/
/** Files as they are shown to a model, by prompt files and by packs. */
const quotedFile =
  /^<(file|FILE_CONTENT|CONTEXT_FILE|KNOWLEDGE_FILE)\s+(?:file_)?path="[^"]*"(?: lines="(\d+)")?(?: ends_with="(\/file \w+)")?[^>]*>/
const markedEnd = /^<\/file \w+>/

/**
 * Reads what is said beside the answer from the line on: reasoning, a comment, a file that is quoted as it was shown. Nothing
 * in it is a change. False when the line begins nothing of the kind.
 */
export function readAside(lines: AnswerLines, written: Piece[]): boolean {
  const { line } = lines
  if (!/^\s*[<[◁]/.test(line)) return false
  const [opening] = reasoningStart.exec(line) ?? []
  if (opening !== undefined) return readReasoning(lines, written, opening.trim())
  if (reasoningEnd.test(line)) {
    // some servers leave out where the reasoning begins
    const before = written.splice(0).reduce((text, piece) => text + piece.text, '')
    written.push({ ...textPiece(before), isAside: true })
    return pass(lines, written, lines.at)
  }
  if (commentStart.test(line)) return pass(lines, written, lines.next('end of a comment', lines.at, has(lines, '-->')))
  const [, name = '', count, ending] = quotedFile.exec(line) ?? []
  if (name === '') return false
  const counted = lines.at + 1 + Number(count ?? 0)
  if (ending !== undefined) return readMarked(lines, written, { ending, counted })
  const end = `</${name}>`
  return pass(
    lines,
    written,
    lines.next(`end of ${name}`, counted, (index) => lines.all[index]?.startsWith(end) === true),
  )
}

/** A quoted file with an end of its own, because its text holds the usual one. */
function readMarked(
  lines: AnswerLines,
  written: Piece[],
  { ending, counted }: { readonly ending: string; readonly counted: number },
): boolean {
  const end = lines.next('own end of a file', counted, (index) => markedEnd.test(lines.all[index] ?? ''))
  return pass(lines, written, lines.all[end ?? -1]?.startsWith(`<${ending}>`) === true ? end : undefined)
}

function has({ all }: AnswerLines, end: string): (index: number) => boolean {
  return (index) => all[index]?.includes(end) === true
}

function readReasoning(lines: AnswerLines, written: Piece[], opening: string): boolean {
  const closing = opening.replace(/^./u, '$&/')
  const looked = closing.toLowerCase()
  const end = lines.next(`end of ${looked}`, lines.at, (index) => {
    return lines.all[index]?.toLowerCase().includes(looked) === true
  })
  if (end !== undefined) return pass(lines, written, end)
  const change = lines.next('change in open reasoning', lines.at, (index) => {
    const tag = lines.tagAt(index)
    if (tag === undefined || tag.form === 'close') return false
    return isContainer(tag.name) || isDirective(tag.name) || tag.name === 'AIP_FILE_CHANGE'
  })
  pass(lines, written, lines.all.length - 1)
  const reason = `${opening} is never closed, and the changes behind it count as reasoning: write them behind ${closing}`
  if (change !== undefined) written.push(faultPiece(failDirective('malformed', reason)))
  return true
}

/** Goes on behind line `end`. */
function pass(lines: AnswerLines, written: Piece[], end: number | undefined): boolean {
  if (end === undefined) return false
  for (const text of lines.all.slice(lines.at, end + 1)) written.push({ ...textPiece(text), isAside: true })
  lines.goTo(end + 1)
  return true
}
